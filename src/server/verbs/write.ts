/**
 * Common parts of creations and updates for all kinds (apiserver's generic registry): the stored form of objects, and validation
 * errors. Called by creation.ts and change.ts.
 */
import { formatGroupVersion, type KubeObject, type ObjectMeta, parseGroupVersion } from '../../kube/objects.ts'
import type { ServerContext } from '../call.ts'
import type { FieldError } from '../field-errors.ts'
import { presentObject } from '../present.ts'
import type { ApiResource } from '../resource.ts'
import { invalidObject, notFound } from '../status.ts'
import { keyOf, type Stored, unread } from '../storage/stored.ts'

/** The result of a write; `stored` is undefined for a dry run. */
export interface Written {
  readonly object: KubeObject
  readonly stored?: Stored
  readonly isNew: boolean
}

export function timestamp(parts: Pick<ServerContext, 'clock'>): string {
  return `${new Date(parts.clock.now()).toISOString().slice(0, 19)}Z`
}

export function isTaken(
  parts: ServerContext,
  resource: ApiResource,
  { namespace = '', name = '' }: ObjectMeta,
): boolean {
  return parts.store.collection(resource.collection).get(keyOf(namespace, name)) !== undefined
}

/** The object just written, without reading it back if that would give the same. */
export function presentWritten(resource: ApiResource, stored: Stored, object: KubeObject): KubeObject {
  return stored.rules === resource ? object : presentObject(resource, stored)
}

export function toStorage(resource: ApiResource, object: KubeObject): KubeObject {
  return resource.conversion?.toStorage(object) ?? object
}

/** The object as it would be read back: the storage version may not have all its fields. */
export function asStored({ conversion }: ApiResource, object: KubeObject): KubeObject {
  return conversion?.fromStorage(conversion.toStorage(object)) ?? object
}

function rulesOf(parts: ServerContext, resource: ApiResource): ApiResource {
  return resource.conversion === undefined ? resource : (parts.registry.storageOf(resource.collection) ?? resource)
}

/** An object written in another version than the storage version has not been normalised with any schema: its defaults are missing. */
export function writingRules(parts: ServerContext, resource: ApiResource): object {
  return resource.isCustom && resource.conversion !== undefined ? unread : rulesOf(parts, resource)
}

export function failIfInvalid(
  parts: ServerContext,
  resource: ApiResource,
  object: KubeObject,
  errors: readonly FieldError[],
): void {
  if (errors.length === 0) return
  // Errors of events.k8s.io events name the core group, because they are stored in its form.
  const group = resource.isCustom ? parseGroupVersion(object.apiVersion)?.group : rulesOf(parts, resource).group
  throw invalidObject(group ?? '', object.kind, object.metadata.name ?? '', errors)
}

/** True for custom resources with another kind or apiVersion; that is then their only error. */
export function isOfAnotherType({ group, version, kind, isCustom }: ApiResource, object: KubeObject): boolean {
  if (!isCustom) return false
  return object.kind !== kind || object.apiVersion !== formatGroupVersion(group, version)
}

/** A finalizer without a domain must be one of Kubernetes' own. For custom resources it is only a warning. */
export function metadataRules(resource: ApiResource): { namespaced: boolean; needsStandardFinalizers: boolean } {
  const isExtension = resource.isCustom || resource.group === 'apiextensions.k8s.io'
  return { namespaced: resource.namespaced, needsStandardFinalizers: !isExtension }
}

/** The current state; throws 404 if there is none. */
export function currentOf(
  parts: ServerContext,
  resource: ApiResource,
  key: { namespace: string; name: string },
): Stored {
  const stored = parts.store.collection(resource.collection).get(keyOf(key.namespace, key.name))
  if (stored === undefined) throw notFound(resource, key.name)
  return stored
}
