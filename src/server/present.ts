/** What is stored, as the reader of one resource sees it. */
import { formatGroupVersion, type KubeObject } from '../kube/objects.ts'
import { toJsonText } from '../util/json-text.ts'
import type { ServedResource } from './resource.ts'
import { parseStored, type Stored } from './storage/stored.ts'

/** Does something with states once they can be shown in the version of the resource: at once where no webhook converts. */
export function whenShown<T>(
  resource: ServedResource,
  states: readonly Stored[],
  next: () => T | Promise<T>,
): T | Promise<T> {
  const preparing = resource.converter?.prepare(states)
  return preparing === undefined ? next() : preparing.then(next)
}

/** A fresh object in the version of the resource. Where a webhook converts, the state has been prepared. */
export function presentObject(resource: ServedResource, stored: Stored): KubeObject {
  if (stored.rules === resource) return parseStored(stored)
  if (resource.converter !== undefined) return parseStored(resource.converter.show(stored))
  const object = parseStored(stored)
  const converted = resource.conversion?.fromStorage(object) ?? object
  // Written in what was the storage version then: with the conversion "None", versions differ in nothing else.
  converted.apiVersion = formatGroupVersion(resource.group, resource.version)
  return resource.strategy.fromStorage?.(converted) ?? converted
}

/** The same as text: mostly the stored text itself. */
export function presentText(resource: ServedResource, stored: Stored): string {
  if (stored.rules === resource) return stored.json
  if (resource.converter !== undefined) return resource.converter.show(stored).json
  const text = toJsonText(presentObject(resource, stored))
  // Mostly nothing has changed but the schema, or the process: the next reader need not find that out again. Only for the
  // version that is stored: the rules go on to the next state, which will be of that one.
  if (text === stored.json && resource.conversion === undefined) stored.rules = resource
  return text
}

/** A webhook may convert labels, too. */
export function labelsOf(resource: ServedResource, stored: Stored): Readonly<Record<string, string>> {
  const { converter } = resource
  const shown = converter === undefined || stored.rules === resource ? stored : converter.show(stored)
  return shown.labels ?? {}
}

/** The fields of each state as one resource shows them: a change is judged by every watch with a field selector. */
const knownFields = new WeakMap<Stored, { readonly resource: ServedResource; readonly fields: SelectableFields }>()

type SelectableFields = Readonly<Record<string, string>>

/** Fields that can be selected by; most requests select by none or by name, for which nothing has to be read. */
export function selectableFields(resource: ServedResource, stored: Stored): SelectableFields {
  const own = { 'metadata.name': stored.name, 'metadata.namespace': stored.namespace }
  if (resource.strategy.selectableFields === undefined) return own
  const known = knownFields.get(stored)
  if (known?.resource === resource) return known.fields
  const fields = { ...resource.strategy.selectableFields(presentObject(resource, stored)), ...own }
  knownFields.set(stored, { resource, fields })
  return fields
}
