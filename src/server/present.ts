/** What is stored, as the reader of one resource sees it. */
import { formatGroupVersion, type KubeObject } from '../kube/objects.ts'
import { toJsonText } from '../util/json-text.ts'
import type { ServedResource } from './resource.ts'
import { parseStored, type Stored } from './storage/stored.ts'

/** A fresh object in the version of the resource. */
export function presentObject(resource: ServedResource, stored: Stored): KubeObject {
  const object = parseStored(stored)
  if (stored.rules === resource) return object
  const converted = resource.conversion?.fromStorage(object) ?? object
  // Written in what was the storage version then: with the conversion "None", versions differ in nothing else.
  converted.apiVersion = formatGroupVersion(resource.group, resource.version)
  return resource.strategy.fromStorage?.(converted) ?? converted
}

/** The same as text: mostly the stored text itself. */
export function presentText(resource: ServedResource, stored: Stored): string {
  return stored.rules === resource ? stored.json : toJsonText(presentObject(resource, stored))
}

/** Fields that can be selected by; most requests select by none or by name, for which nothing has to be read. */
export function selectableFields(resource: ServedResource, stored: Stored): Readonly<Record<string, string>> {
  const own = { 'metadata.name': stored.name, 'metadata.namespace': stored.namespace }
  if (resource.strategy.selectableFields === undefined) return own
  return { ...resource.strategy.selectableFields(presentObject(resource, stored)), ...own }
}
