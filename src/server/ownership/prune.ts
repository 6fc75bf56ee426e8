/** Removes fields that a manager applied before and no longer applies, unless another manager owns them. */
import type { KubeObject } from '../../kube/objects.ts'
import type { Json } from '../../util/json/json.ts'
import { difference, type FieldSet, intersection, isEmpty, noFields, union } from './field-set.ts'
import type { FieldType } from './field-types.ts'
import { fieldsOf } from './fields-of.ts'
import type { Manager } from './managers.ts'
import { withNamedFields } from './named-fields.ts'
import { removeFields } from './remove.ts'
import type { Ownership } from './track.ts'
import { checkFieldsOf } from './validate.ts'

interface Pruning {
  /** All managers, including the applier with its new fields. */
  readonly managers: readonly Manager[]
  readonly self: Manager
  /** The applier with its previous fields. */
  readonly last: Manager | undefined
}

export function pruneAbandoned(ownership: Ownership, merged: KubeObject, pruning: Pruning): KubeObject {
  const { last, self, managers } = pruning
  if (last === undefined || isEmpty(last.fields)) return merged
  const type = typeIn(ownership, last.apiVersion)
  if (type === undefined) return merged
  const before = withNamedFields(type, last.fields)
  const isKept = last.apiVersion === self.apiVersion && isEmpty(difference(before, withNamedFields(type, self.fields)))
  if (isKept) return merged
  const whole = merged as unknown as Json
  if (last.apiVersion !== ownership.apiVersion) {
    checkFieldsOf('failed to prune fields: failed to convert merged object to last applied version', type, whole)
  }
  const pruned = addBackOwned(ownership, whole, removeFields(type, whole, before), { managers, last })
  const gone = difference(allFields(type, whole), allFields(type, pruned))
  return removeFields(type, whole, intersection(gone, before)) as unknown as KubeObject
}

/** Restores fields that any manager owns, including the applier. Managers of the pruned version come first. */
function addBackOwned(
  ownership: Ownership,
  merged: Json,
  pruned: Json,
  { managers, last }: { readonly managers: readonly Manager[]; readonly last: Manager },
): Json {
  const owned = new Map<string, FieldSet>([[last.apiVersion, noFields]])
  for (const { apiVersion, fields } of managers) owned.set(apiVersion, union(owned.get(apiVersion) ?? noFields, fields))
  let result = pruned
  for (const [apiVersion, fields] of owned) {
    const type = typeIn(ownership, apiVersion)
    if (type === undefined) continue
    if (apiVersion !== last.apiVersion) {
      const context = 'failed to prune fields: failed add back owned items: failed to convert'
      checkFieldsOf(`${context} merged object at version ${apiVersion}`, type, merged)
      checkFieldsOf(`${context} pruned object at version ${apiVersion}`, type, result)
    }
    const kept = union(allFields(type, result), withNamedFields(type, fields))
    result = removeFields(type, merged, difference(allFields(type, merged), kept))
  }
  return result
}

function allFields(type: FieldType, value: Json): FieldSet {
  return withNamedFields(type, fieldsOf(type, value))
}

function typeIn(ownership: Ownership, apiVersion: string): FieldType | undefined {
  return apiVersion === ownership.apiVersion ? ownership.type : ownership.inVersion(apiVersion)?.type
}
