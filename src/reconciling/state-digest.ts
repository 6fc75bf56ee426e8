/**
 * Digests the state of an object for its reconcilers: everything except records of the framework and fields that the API server maintains. Distinguishes
 * the reconciler's own writes, which do not trigger it, from writes of other clients at the same time, which do. Pure.
 */
import type { Diff, Essence } from '../causation/cause.ts'
import { diffValues } from '../causation/diff.ts'
import { digestEssence } from '../causation/essence.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { PersistenceSettings } from '../settings/groups.ts'

export function digestState(persistence: PersistenceSettings, body: KubeObject): string {
  return digestEssence(stateOf(persistence, body))
}

/** Whether `after` differs from `expected`, the result of the operator's own write, in a field that this write did not touch: another client has written. */
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
  // A schema may drop a written field, and a webhook may change it: differences in written fields are not changes by other clients.
  const written = toPathTree(diffValues(old, desired))
  return differences.some(([, path]) => !touches(written, path))
}

/** A tree of paths by their keys. A node without keys is the end of a path and stands for everything below it. */
interface PathTree extends Map<string, PathTree> {}

/** No path in a diff is a prefix of another one, so a node at the end of a path never gets keys. */
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

/** Whether the path is a prefix of a path in the tree, or a path in the tree is a prefix of it. */
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
