/**
 * Which state of an object a reconciler has seen: all of it, but for what the framework itself and the API server keep there. A
 * reconciler is not called for what it has written itself; but it is for what others have written at the same time. Pure.
 */
import type { Essence } from '../../core/causation/causes.ts'
import { diffValues } from '../../core/causation/diff.ts'
import { digestEssence } from '../../core/causation/essence-digest.ts'
import type { PersistenceSettings } from '../../core/settings-groups.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'

export function digestState(persistence: PersistenceSettings, body: KubeObject): string {
  return digestEssence(stateOf(persistence, body))
}

/** Whether the object has become other than it should have by our own write: others have written, too. */
export function isForeign(
  persistence: PersistenceSettings,
  {
    before,
    expected,
    after,
  }: { readonly before: KubeObject; readonly expected: KubeObject; readonly after: KubeObject },
): boolean {
  const [old, wanted, now] = [before, expected, after].map((body) => stateOf(persistence, body))
  const differences = diffValues(wanted, now)
  if (differences.length === 0) return false
  // What we wrote may have become something else on the way: a schema drops it, a webhook has an opinion.
  const written = diffValues(old, wanted).map(([, path]) => path)
  return differences.some(([, path]) => !written.some((own) => isWithin(path, own) || isWithin(own, path)))
}

function isWithin(path: readonly string[], other: readonly string[]): boolean {
  return other.every((key, index) => path[index] === key)
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
