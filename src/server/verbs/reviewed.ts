/**
 * Writes with admission or conversion webhooks. The same steps as in write.ts and remove.ts, but asynchronous, so the current state
 * may change before the commit. Then all steps are repeated from the new state, and the webhooks are called again, as in
 * kube-apiserver. Called by the verbs, and by controllers for resources with webhooks; objects changed by controllers stay in their
 * stored version.
 */

import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import { admitCreation } from '../admission.ts'
import { refuseEscalation } from '../authorization/escalation.ts'
import type { ResourceCall } from '../call.ts'
import { generateName } from '../names.ts'
import type { DeleteRequestOptions } from '../options.ts'
import { parseManagers } from '../ownership/managers.ts'
import { presentObject } from '../present.ts'
import type { ApiResource } from '../resource.ts'
import { pathNotFound } from '../status.ts'
import type { Stored } from '../storage/stored.ts'
import type { Reviewer } from '../webhooks/reviewer.ts'
import { checkIdentity, finishUpdate, own, prepareForStorage, type Update } from './change.ts'
import { commitConverted, deleteStored, finishConverted } from './converted.ts'
import { commitCreation, generateAttempts, nameTaken, prepareCreation } from './creation.ts'
import type { PendingUpdate } from './owning.ts'
import { dropDuplicateOwners, matchNamespace } from './place.ts'
import { checkPreconditions, deleteObject, isAlreadyDeleting, type Removed } from './remove.ts'
import { currentOf, type Written } from './write.ts'

export async function createReviewed(call: ResourceCall, given: KubeObject, reviewing: Reviewing): Promise<Written> {
  const { resource, warnings } = call
  const { reviewer = noReviewer, dryRun } = reviewing
  const desired = await reviewer.mutate(withoutSystemFields(given))
  resetInvalidManagedFields(call, desired, given)
  checkPlacement(call, desired)
  refuseEscalation(call, desired)
  const { metadata } = desired
  const isGenerated = !metadata.name && !!metadata.generateName
  for (let attempt = 1; ; attempt += 1) {
    if (isGenerated) metadata.name = generateName(metadata.generateName!)
    const prepared = prepareCreation(call, resource, desired, { dryRun, warnings })
    await reviewer.validate(prepared)
    checkStillServed(call, prepared)
    const object = withoutUnknownFields(resource, prepared, reviewer)
    const written = await commit(call, { object, given: desired }, dryRun)
    if (written !== undefined) return written
    if (!isGenerated || attempt === generateAttempts) throw nameTaken(call, resource, metadata, isGenerated)
  }
}

type Reviews = Pick<Reviewer, 'mutate' | 'validate' | 'reviewDeletion' | 'isChanged'>

interface Reviewing {
  /** Undefined if only a conversion webhook is involved. */
  readonly reviewer: Reviews | undefined
  readonly dryRun: boolean
}

const noReviewer: Reviews = {
  isChanged: false,
  mutate: async (object) => object,
  validate: async () => {},
  reviewDeletion: async () => {},
}

type Creation = Parameters<typeof commitCreation>[2]

async function commit(call: ResourceCall, creation: Creation, dryRun: boolean): Promise<Written | undefined> {
  const { resource } = call
  const { converter } = resource
  if (converter === undefined) return commitCreation(call, resource, creation, dryRun)
  const form = await converter.toStorage(creation.object)
  checkStillServed(call, creation.object)
  return commitConverted(call, converter, { ...creation, form }, dryRun)
}

async function finish(call: ResourceCall, pending: PendingUpdate, dryRun: boolean): Promise<Written | undefined> {
  const { resource } = call
  const { converter } = resource
  if (converter === undefined) return finishUpdate(call, resource, pending, dryRun)
  return finishConverted(call, converter, pending, dryRun)
}

/** Mutating webhooks do not see fields that the server sets later, even if the client has sent them. */
function withoutSystemFields(given: KubeObject): KubeObject {
  const { uid, creationTimestamp, selfLink, ...metadata } = given.metadata
  return { ...given, metadata }
}

/** A webhook may change managedFields. Invalid ones are reset with a warning. */
function resetInvalidManagedFields({ warnings }: ResourceCall, object: KubeObject, before: KubeObject): void {
  const { managedFields = [] } = object.metadata
  if (managedFields === before.metadata.managedFields) return
  try {
    parseManagers(managedFields)
  } catch (error) {
    warnings.push(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${(error as Error).message}`,
    )
    if (before.metadata.managedFields === undefined) delete object.metadata.managedFields
    else object.metadata.managedFields = before.metadata.managedFields
  }
}

function checkPlacement(call: ResourceCall, object: KubeObject): void {
  matchNamespace(call, object)
  dropDuplicateOwners(object, call.warnings, true)
}

/** The namespace or CRD may have been deleted in the meantime: an object in it could not be found or deleted. */
function checkStillServed(call: ResourceCall, object: KubeObject): void {
  const { registry, resource } = call
  const now = registry.find(resource.group, resource.version, resource.plural)
  if (now === undefined) throw pathNotFound()
  admitCreation({ ...call, resource: now }, object)
}

/** Unknown fields that a webhook has added to a custom resource are seen by other webhooks but not stored. */
function withoutUnknownFields({ isCustom, strategy }: ApiResource, object: KubeObject, reviewer: Reviews): KubeObject {
  return isCustom && reviewer.isChanged ? strategy.decode(object).object : object
}

/** Repeats the update until it is based on the current state. With a resourceVersion from the client, a changed state is a conflict. */
export async function updateReviewed(
  call: ResourceCall,
  update: Update,
  reviewer: Reviews = noReviewer,
): Promise<Written> {
  const { resource, path, warnings } = call
  const { show = (object: KubeObject) => object } = update.view ?? {}
  const told = warnings.length
  for (;;) {
    // Each attempt adds its warnings again.
    warnings.length = told
    const desired = await reviewUpdate(call, currentOf(call, resource, path), { update, reviewer })
    const { current, object, old } = prepareForStorage(call, resource, desired, update)
    await reviewer.validate(show(object), show(old))
    const settled = { current, old, object: withoutUnknownFields(resource, object, reviewer) }
    const written = await finish(call, settled, update.dryRun)
    if (written !== undefined) return written
  }
}

async function reviewUpdate(
  call: ResourceCall,
  current: Stored,
  { update, reviewer }: { readonly update: Update; readonly reviewer: Reviews },
): Promise<PendingUpdate> {
  const { resource } = call
  const { view, change, uid } = update
  checkIdentity(resource, current, uid)
  await resource.converter?.prepare([current])
  const [old, base] = [presentObject(resource, current), presentObject(resource, current)]
  // A copy, because the same body is used in each attempt and gets modified.
  const desired = copyOf(change(view === undefined ? base : view.show(base)))
  own(call, resource, { current, old, object: desired }, update)
  const object = await reviewer.mutate(desired, view === undefined ? old : view.show(old))
  resetInvalidManagedFields(call, object, desired)
  if (view !== undefined) return { current, old, object: view.put(base, object) }
  checkPlacement(call, object)
  update.guard?.(object, old)
  return { current, old, object }
}

function copyOf(object: KubeObject): KubeObject {
  return cloneJson(object as unknown as JsonObject) as unknown as KubeObject
}

/**
 * Reviews a deletion once. kube-apiserver reviews it twice if an object with graceful deletion, such as a pod without a node, is
 * marked and removed in one step.
 */
export async function deleteReviewed(
  call: ResourceCall,
  key: { readonly namespace: string; readonly name: string },
  {
    options,
    reviewer = noReviewer,
  }: { readonly options: DeleteRequestOptions; readonly reviewer: Reviews | undefined },
): Promise<Removed> {
  const { resource, store } = call
  for (;;) {
    const current = currentOf(call, resource, key)
    await resource.converter?.prepare([current])
    const object = presentObject(resource, current)
    checkPreconditions(resource, object, options)
    // A deletion that changes nothing is not reviewed.
    if (!isAlreadyDeleting(resource, object, options)) await reviewer.reviewDeletion(object)
    const isPresent = store.collection(current.collection).get(current.key) === current
    if (!isPresent) continue
    return resource.converter ? deleteStored(call, current, options) : deleteObject(call, resource, current, options)
  }
}
