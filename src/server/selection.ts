/** The objects of a collection that a request selects: by namespace, name and selectors. */
import type { ResourceCall } from './call.ts'
import { labelsOf, selectableFields } from './present.ts'
import { type FieldRequirement, parseListSelectors } from './selectors.ts'
import { badRequest } from './status.ts'
import type { Stored } from './storage/stored.ts'

export interface ObjectSelection {
  readonly namespace: string
  /** True if labels or fields are compared, not only namespace and name, which are the same in all versions. */
  readonly readsContents: boolean
  /** False if all objects of the namespace are selected: only then do lists have a remainingItemCount. */
  readonly isFiltered: boolean
  /** Compares namespace and name only, so that other objects are neither parsed nor converted. */
  concerns(stored: Stored): boolean
  matches(stored: Stored): boolean
}

export function selectionOf({ resource, path, query }: ResourceCall): ObjectSelection {
  const { labels, fields } = parseListSelectors(query, resource)
  const all = withName(fields, path.name)
  const isName = ({ field }: FieldRequirement) => field === 'metadata.name' || field === 'metadata.namespace'
  const names = all.filter(isName)
  const contents = all.filter((one) => !isName(one))
  const { namespace } = path
  const concerns = (stored: Stored): boolean => {
    if (namespace !== '' && stored.namespace !== namespace) return false
    if (names.length === 0) return true
    return meets({ 'metadata.name': stored.name, 'metadata.namespace': stored.namespace }, names)
  }
  return {
    namespace,
    isFiltered: !labels.isEmpty || all.length > 0,
    readsContents: !labels.isEmpty || contents.length > 0,
    concerns,
    matches(stored) {
      if (!concerns(stored)) return false
      if (!labels.isEmpty && !labels.matches(labelsOf(resource, stored))) return false
      return contents.length === 0 || meets(selectableFields(resource, stored), contents)
    },
  }
}

function meets(values: Readonly<Record<string, string>>, requirements: readonly FieldRequirement[]): boolean {
  return requirements.every(({ field, value, isEqual }) => ((values[field] ?? '') === value) === isEqual)
}

/** The deprecated watch path of one object contains its name. */
function withName(fields: readonly FieldRequirement[], name: string): readonly FieldRequirement[] {
  if (name === '') return fields
  if (fields.length === 0) return [{ field: 'metadata.name', value: name, isEqual: true }]
  const selected = fields.find(({ field, isEqual }) => field === 'metadata.name' && isEqual)
  if (selected?.value !== name) throw badRequest("fieldSelector metadata.name doesn't match requested name")
  return fields
}
