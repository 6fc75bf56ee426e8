/** Which objects of a collection a request means: its namespace, its name, its selectors. */
import type { Call } from './call.ts'
import { selectableFields } from './present.ts'
import { type FieldRequirement, parseListSelectors } from './selectors.ts'
import { badRequest } from './status.ts'
import type { Stored } from './storage/stored.ts'

export interface Selection {
  readonly namespace: string
  /** False where every object of the namespace is meant: only then lists say how many are left. */
  readonly isFiltered: boolean
  matches(stored: Stored): boolean
}

export function selectionOf({ resource, path, query }: Call): Selection {
  const { labels, fields } = parseListSelectors(query, resource)
  const named = withName(fields, path.name)
  const needsFields = named.some(({ field }) => field !== 'metadata.name' && field !== 'metadata.namespace')
  const { namespace } = path
  return {
    namespace,
    isFiltered: !labels.isEmpty || named.length > 0,
    matches(stored) {
      if (namespace !== '' && stored.namespace !== namespace) return false
      if (!labels.isEmpty && !labels.matches(stored.labels ?? {})) return false
      if (named.length === 0) return true
      const values = needsFields
        ? selectableFields(resource, stored)
        : { 'metadata.name': stored.name, 'metadata.namespace': stored.namespace }
      return named.every(
        ({ field, value, isEqual }) => (((values as Record<string, string>)[field] ?? '') === value) === isEqual,
      )
    },
  }
}

/** The old way to watch one object has its name in the path. */
function withName(fields: readonly FieldRequirement[], name: string): readonly FieldRequirement[] {
  if (name === '') return fields
  if (fields.length === 0) return [{ field: 'metadata.name', value: name, isEqual: true }]
  const selected = fields.find(({ field, isEqual }) => field === 'metadata.name' && isEqual)
  if (selected?.value !== name) throw badRequest("fieldSelector metadata.name doesn't match requested name")
  return fields
}
