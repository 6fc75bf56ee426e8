/**
 * The last steps of a write with a conversion webhook: convert to the storage version, commit, and convert back to the version of the
 * request. Called by reviewed.ts instead of the steps in write.ts and remove.ts.
 */

import type { KubeObject } from '../../kube/objects.ts'
import type { ResourceCall } from '../call.ts'
import type { DeleteRequestOptions } from '../options.ts'
import { presentObject } from '../present.ts'
import type { ApiResource, WebhookConverter } from '../resource.ts'
import { keyOf, type Stored, toStored } from '../storage/stored.ts'
import { commitUpdate, isUnchanged } from './change.ts'
import type { PendingUpdate } from './owning.ts'
import { deleteObject, type Removed } from './remove.ts'
import { isTaken, type Written, writingRules } from './write.ts'

/** Undefined if the name exists. */
export async function commitConverted(
  call: ResourceCall,
  converter: WebhookConverter,
  { object, given, form }: { readonly object: KubeObject; readonly given: KubeObject; readonly form: KubeObject },
  dryRun: boolean,
): Promise<Written | undefined> {
  const { resource } = call
  if (dryRun) {
    if (isTaken(call, resource, object.metadata)) return undefined
    return { object: await rehearse(resource, converter, form, given), isNew: true }
  }
  const stored = call.store.create(resource.collection, form, writingRules(call, resource))
  return stored && { object: await presentLater(resource, converter, stored), stored, isNew: true }
}

/** Undefined if the current state has been replaced in the meantime. */
export async function finishConverted(
  call: ResourceCall,
  converter: WebhookConverter,
  pending: PendingUpdate,
  dryRun: boolean,
): Promise<Written | undefined> {
  const { resource } = call
  const { current, old, object } = pending
  const form = await converter.toStorage(object)
  if (isUnchanged(resource, pending, form)) return { object: old, stored: current, isNew: false }
  if (dryRun) return { object: await rehearse(resource, converter, form, object), isNew: false }
  const stored = commitUpdate(call, resource, pending, form)
  if (stored === undefined) return undefined
  if (stored === 'gone') return { object, isNew: false }
  return { object: await presentLater(resource, converter, stored), stored, isNew: false }
}

/** Deletes in the version that the object is stored in, so that no conversion is needed. */
export function deleteStored(call: ResourceCall, current: Stored, options: DeleteRequestOptions): Removed {
  return deleteObject(call, call.registry.resourceForStoredVersion(current) ?? call.resource, current, options)
}

/** The deleted or marked object in the version of the request. */
export async function presentLeft(
  call: ResourceCall,
  converter: WebhookConverter,
  { object }: Removed,
  { dryRun }: DeleteRequestOptions,
): Promise<KubeObject> {
  const { resource, store } = call
  const { namespace = '', name = '', resourceVersion } = object.metadata
  const present = store.collection(resource.collection).get(keyOf(namespace, name))
  const isPresent = present !== undefined && String(present.version) === resourceVersion
  if (isPresent && !dryRun) return presentLater(resource, converter, present)
  return rehearse(resource, converter, object, object)
}

async function presentLater(resource: ApiResource, converter: WebhookConverter, stored: Stored): Promise<KubeObject> {
  await converter.prepare([stored])
  return presentObject(resource, stored)
}

/** The object as it would be read back, without storing it: it keeps its resourceVersion. */
async function rehearse(
  resource: ApiResource,
  converter: WebhookConverter,
  form: KubeObject,
  { metadata: { resourceVersion } }: KubeObject,
): Promise<KubeObject> {
  const draft = toStored(resource.collection, { ...form, metadata: { ...form.metadata } }, 0, {})
  const object = await presentLater(resource, converter, draft)
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata: resourceVersion ? { ...metadata, resourceVersion } : metadata }
}
