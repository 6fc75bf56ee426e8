/** Converts stored states into the version and schema of the resource that reads them. */
import { formatGroupVersion, type KubeObject } from '../kube/objects.ts'
import { toJsonText } from '../util/json/json-text.ts'
import type { ApiResource } from './resource.ts'
import { parseStored, type Stored } from './storage/stored.ts'

/** Calls `next` when the states can be read in the version of the resource: immediately, unless a conversion webhook must be called. */
export function whenShown<T>(
  resource: ApiResource,
  states: readonly Stored[],
  next: () => T | Promise<T>,
): T | Promise<T> {
  const preparing = resource.converter?.prepare(states)
  return preparing === undefined ? next() : preparing.then(next)
}

/** A new object in the version of the resource. For a conversion webhook, the state must have been prepared. */
export function presentObject(resource: ApiResource, stored: Stored): KubeObject {
  if (stored.rules === resource) return parseStored(stored)
  if (resource.converter !== undefined) return parseStored(resource.converter.show(stored))
  const object = parseStored(stored)
  const converted = resource.conversion?.fromStorage(object) ?? object
  // The state may be in an older storage version. With conversion strategy `None`, versions differ in apiVersion only.
  converted.apiVersion = formatGroupVersion(resource.group, resource.version)
  return resource.strategy.fromStorage?.(converted) ?? converted
}

/** The JSON text in the version of the resource; usually the stored text itself. */
export function presentText(resource: ApiResource, stored: Stored): string {
  if (stored.rules === resource) return stored.json
  if (resource.converter !== undefined) return resource.converter.show(stored).json
  const text = toJsonText(presentObject(resource, stored))
  // The schema, or the process, has changed, but the text has not: remember that for the next reader. Only for the storage version,
  // because `rules` are inherited by the next state, which is in that version.
  if (text === stored.json && resource.conversion === undefined) stored.rules = resource
  return text
}

/** The labels in the version of the resource: a conversion webhook may change labels. */
export function labelsOf(resource: ApiResource, stored: Stored): Readonly<Record<string, string>> {
  const { converter } = resource
  const shown = converter === undefined || stored.rules === resource ? stored : converter.show(stored)
  return shown.labels ?? {}
}

/** Selectable fields of each state, cached per resource: every watch with a field selector checks each change. */
const knownFields = new WeakMap<Stored, { readonly resource: ApiResource; readonly fields: SelectableFields }>()

type SelectableFields = Readonly<Record<string, string>>

/** Fields that field selectors can use. Most requests select by name or not at all, which needs no parsing. */
export function selectableFields(resource: ApiResource, stored: Stored): SelectableFields {
  const own = { 'metadata.name': stored.name, 'metadata.namespace': stored.namespace }
  if (resource.strategy.selectableFields === undefined) return own
  const known = knownFields.get(stored)
  if (known?.resource === resource) return known.fields
  const fields = { ...resource.strategy.selectableFields(presentObject(resource, stored)), ...own }
  knownFields.set(stored, { resource, fields })
  return fields
}
