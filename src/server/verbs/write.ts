/**
 * What creations and changes have in common, whatever the kind (apiserver's generic registry): the form in which objects are
 * stored and come back, and what is wrong with them. Called by creation.ts and change.ts.
 */
import { formatGroupVersion, type KubeObject, type ObjectMeta, parseGroupVersion } from '../../kube/objects.ts'
import type { Parts } from '../call.ts'
import type { FieldError } from '../field-errors.ts'
import { presentObject } from '../present.ts'
import type { ServedResource } from '../resource.ts'
import { invalidObject, notFound } from '../status.ts'
import { keyOf, type Stored, unread } from '../storage/stored.ts'

/** What a write left behind: stored, or only worked out for a dry run. */
export interface Written {
  readonly object: KubeObject
  readonly stored?: Stored
  readonly isNew: boolean
}

export function timestamp(parts: Pick<Parts, 'clock'>): string {
  return `${new Date(parts.clock.now()).toISOString().slice(0, 19)}Z`
}

export function isTaken(parts: Parts, resource: ServedResource, { namespace = '', name = '' }: ObjectMeta): boolean {
  return parts.store.collection(resource.collection).get(keyOf(namespace, name)) !== undefined
}

/** What was just written, without reading it back where that would show the same. */
export function presentWritten(resource: ServedResource, stored: Stored, object: KubeObject): KubeObject {
  return stored.rules === resource ? object : presentObject(resource, stored)
}

export function toStorage(resource: ServedResource, object: KubeObject): KubeObject {
  return resource.conversion?.toStorage(object) ?? object
}

/** As it would come back from the store: another version may not know of all its fields. */
export function asStored({ conversion }: ServedResource, object: KubeObject): KubeObject {
  return conversion?.fromStorage(conversion.toStorage(object)) ?? object
}

function rulesOf(parts: Parts, resource: ServedResource): ServedResource {
  return resource.conversion === undefined ? resource : (parts.registry.storageOf(resource.collection) ?? resource)
}

/** What came by another version than the stored one has not been read by the rules of any yet: defaults are missing. */
export function writingRules(parts: Parts, resource: ServedResource): object {
  return resource.isCustom && resource.conversion !== undefined ? unread : rulesOf(parts, resource)
}

export function failIfInvalid(
  parts: Parts,
  resource: ServedResource,
  object: KubeObject,
  errors: readonly FieldError[],
): void {
  if (errors.length === 0) return
  // Events of the newer group are refused in the name of the older one, in whose form they are kept.
  const group = resource.isCustom ? parseGroupVersion(object.apiVersion)?.group : rulesOf(parts, resource).group
  throw invalidObject(group ?? '', object.kind, object.metadata.name ?? '', errors)
}

/** Custom resources can get so far; what they say of themselves is then the only thing that is wrong with them. */
export function isOfAnotherType({ group, version, kind, isCustom }: ServedResource, object: KubeObject): boolean {
  if (!isCustom) return false
  return object.kind !== kind || object.apiVersion !== formatGroupVersion(group, version)
}

/** A finalizer without a domain is Kubernetes' own or a mistake; custom resources get away with a warning. */
export function metadataRules(resource: ServedResource): { namespaced: boolean; needsStandardFinalizers: boolean } {
  const isExtension = resource.isCustom || resource.group === 'apiextensions.k8s.io'
  return { namespaced: resource.namespaced, needsStandardFinalizers: !isExtension }
}

/** The present state, or a 404. */
export function currentOf(parts: Parts, resource: ServedResource, key: { namespace: string; name: string }): Stored {
  const stored = parts.store.collection(resource.collection).get(keyOf(key.namespace, key.name))
  if (stored === undefined) throw notFound(resource, key.name)
  return stored
}
