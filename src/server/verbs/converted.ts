/**
 * The last steps of a write where a webhook converts: to the version that is stored, the commit, and back to the version of
 * the request for the answer. The steps before are those of all who wait (reviewed.ts), which calls these in place of the
 * ones of write.ts and remove.ts.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { Call } from '../call.ts'
import type { DeleteOptions } from '../options.ts'
import { presentObject } from '../present.ts'
import type { Converter, ServedResource } from '../resource.ts'
import { keyOf, type Stored, toStored } from '../storage/stored.ts'
import { commitUpdate, isUnchanged, type Wish } from './change.ts'
import { deleteObject, type Removed } from './remove.ts'
import { isTaken, type Written, writingRules } from './write.ts'

/** Undefined where the name is taken. */
export async function commitConverted(
  call: Call,
  converter: Converter,
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

/** Undefined where somebody was faster. */
export async function finishConverted(
  call: Call,
  converter: Converter,
  wish: Wish,
  dryRun: boolean,
): Promise<Written | undefined> {
  const { resource } = call
  const { current, old, object } = wish
  const form = await converter.toStorage(object)
  if (isUnchanged(resource, wish, form)) return { object: old, stored: current, isNew: false }
  if (dryRun) return { object: await rehearse(resource, converter, form, object), isNew: false }
  const stored = commitUpdate(call, resource, wish, form)
  if (stored === undefined) return undefined
  if (stored === 'gone') return { object, isNew: false }
  return { object: await presentLater(resource, converter, stored), stored, isNew: false }
}

/** What was marked and stays is left in the version that is stored: nobody has to be asked for that. */
export function deleteStored(call: Call, current: Stored, options: DeleteOptions): Removed {
  return deleteObject(call, call.registry.keeperOf(current) ?? call.resource, current, options)
}

/** What such a deletion has left, in the version of the request. */
export async function presentLeft(
  call: Call,
  converter: Converter,
  { object }: Removed,
  { dryRun }: DeleteOptions,
): Promise<KubeObject> {
  const { resource, store } = call
  const { namespace = '', name = '', resourceVersion } = object.metadata
  const present = store.collection(resource.collection).get(keyOf(namespace, name))
  const isPresent = present !== undefined && String(present.version) === resourceVersion
  if (isPresent && !dryRun) return presentLater(resource, converter, present)
  return rehearse(resource, converter, object, object)
}

async function presentLater(resource: ServedResource, converter: Converter, stored: Stored): Promise<KubeObject> {
  await converter.prepare([stored])
  return presentObject(resource, stored)
}

/** As it would come back from the store, although nothing is stored: it keeps the version that it was given. */
async function rehearse(
  resource: ServedResource,
  converter: Converter,
  form: KubeObject,
  { metadata: { resourceVersion } }: KubeObject,
): Promise<KubeObject> {
  const draft = toStored(resource.collection, { ...form, metadata: { ...form.metadata } }, 0, {})
  const object = await presentLater(resource, converter, draft)
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata: resourceVersion ? { ...metadata, resourceVersion } : metadata }
}
