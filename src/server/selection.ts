/** Which objects of a collection a request means: its namespace, its name, its selectors. */
import type { Call } from './call.ts'
import { labelsOf, selectableFields } from './present.ts'
import { type FieldRequirement, parseListSelectors } from './selectors.ts'
import { badRequest } from './status.ts'
import type { Stored } from './storage/stored.ts'

export interface Selection {
  readonly namespace: string
  /** Whether the contents decide: not only the namespace and the name, which are the same in all versions. */
  readonly readsContents: boolean
  /** False where every object of the namespace is meant: only then lists say how many are left. */
  readonly isFiltered: boolean
  /** The namespace and the name are those; what is not meant by them is not read, nor converted. */
  concerns(stored: Stored): boolean
  matches(stored: Stored): boolean
}

export function selectionOf({ resource, path, query }: Call): Selection {
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

/** The old way to watch one object has its name in the path. */
function withName(fields: readonly FieldRequirement[], name: string): readonly FieldRequirement[] {
  if (name === '') return fields
  if (fields.length === 0) return [{ field: 'metadata.name', value: name, isEqual: true }]
  const selected = fields.find(({ field, isEqual }) => field === 'metadata.name' && isEqual)
  if (selected?.value !== name) throw badRequest("fieldSelector metadata.name doesn't match requested name")
  return fields
}
