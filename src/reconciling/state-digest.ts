/**
 * Which state of an object a reconciler has seen: all of it, but for what the framework itself and the API server keep there. A
 * reconciler is not called for what it has written itself; but it is for what others have written at the same time. Pure.
 */
import type { Diff, Essence } from '../causation/cause.ts'
import { diffValues } from '../causation/diff.ts'
import { digestEssence } from '../causation/essence.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { PersistenceSettings } from '../settings/groups.ts'

export function digestState(persistence: PersistenceSettings, body: KubeObject): string {
  return digestEssence(stateOf(persistence, body))
}

/** Whether the object has become other than it should have by our own write: others have written, too. */
export function isChangedByOthers(
  persistence: PersistenceSettings,
  {
    before,
    expected,
    after,
  }: { readonly before: KubeObject; readonly expected: KubeObject; readonly after: KubeObject },
): boolean {
  const [old, desired, now] = [before, expected, after].map((body) => stateOf(persistence, body))
  const differences = diffValues(desired, now)
  if (differences.length === 0) return false
  // What we wrote may have become something else on the way: a schema drops it, a webhook has an opinion.
  const written = toPathTree(diffValues(old, desired))
  return differences.some(([, path]) => !touches(written, path))
}

/** Paths by their keys. A node without keys is the end of a path: all below it belongs to it. */
interface PathTree extends Map<string, PathTree> {}

/** A diff has no two paths of which one begins with the other, so the end of a path never gets keys. */
function toPathTree(diff: Diff): PathTree {
  const root: PathTree = new Map()
  for (const [, path] of diff) {
    let node = root
    for (const key of path) {
      const inner: PathTree = node.get(key) ?? new Map()
      node.set(key, inner)
      node = inner
    }
  }
  return root
}

/** Whether the path lies within one of the tree, or one of the tree lies within the path. */
function touches(tree: PathTree, path: readonly string[]): boolean {
  let node = tree
  for (const key of path) {
    const inner = node.get(key)
    if (inner === undefined) return node !== tree && node.size === 0
    node = inner
  }
  return node !== tree || tree.size > 0
}

function stateOf({ diffbaseStorage, progressStorage, finalizer }: PersistenceSettings, body: KubeObject): Essence {
  const essence = progressStorage.clear({ essence: diffbaseStorage.build({ body, extraFields: [['status']] }) })
  const { deletionTimestamp, finalizers = [], ownerReferences = [] } = body.metadata
  const system = {
    deletionTimestamp: deletionTimestamp ?? null,
    finalizers: finalizers.filter((one) => one !== finalizer),
    ownerReferences: ownerReferences as unknown as JsonObject[],
  }
  return { ...essence, 'metadata/system': system } as unknown as Essence
}
