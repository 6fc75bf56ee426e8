/** If an update changes nothing but the timestamps in managedFields, the old ones are restored, so that it is a no-op. */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'

/** Restores the managers' times if nothing else differs. Modifies the object. */
export function keepTimes(object: KubeObject, old: KubeObject): void {
  const [entries, before] = [object.metadata.managedFields, old.metadata.managedFields]
  if (entries === undefined || before === undefined || entries === before) return
  if (!isSameButForTimes(entries, before)) return
  const restored = { ...object, metadata: { ...object.metadata, managedFields: before } }
  if (isDeepEqual(restored, old)) object.metadata.managedFields = before
}

const named = ['manager', 'operation', 'apiVersion', 'subresource', 'fieldsType'] as const

function isSameButForTimes(entries: readonly JsonObject[], before: readonly JsonObject[]): boolean {
  if (entries.length !== before.length) return false
  return entries.every((entry, index) => {
    const other = before[index]!
    return named.every((key) => entry[key] === other[key]) && isDeepEqual(entry['fieldsV1'], other['fieldsV1'])
  })
}
