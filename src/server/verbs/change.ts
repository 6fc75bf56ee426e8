/**
 * Updates of objects, and their removal when the last finalizer is removed: the part that all kinds share (apiserver's generic
 * registry). Called by the verbs for clients and by controllers.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { ServerContext } from '../call.ts'
import { invalid } from '../field-errors.ts'
import { validateMetadata, validateMetadataUpdate } from '../metadata.ts'
import { pathSegmentNameProblems } from '../names.ts'
import { parseVersion } from '../options.ts'
import { keepTimes } from '../ownership/times.ts'
import { presentObject } from '../present.ts'
import type { ApiResource } from '../resource.ts'
import { conflict, internalError, invalidObject, noVersion, type StatusError } from '../status.ts'
import { keyOf, parseStored, type Stored } from '../storage/stored.ts'
import { ownUpdate, type PendingUpdate } from './owning.ts'
import {
  asStored,
  failIfInvalid,
  isOfAnotherType,
  metadataRules,
  presentWritten,
  toStorage,
  type Written,
  writingRules,
} from './write.ts'

/** The part of an object that an update changes: everything but the status, the status, or `spec.finalizers` of a namespace. */
export type UpdatePart = '' | 'status' | 'finalize'

export interface Update {
  /** Computes the new state from the current one; called again if the current one has changed in the meantime. */
  readonly change: (current: KubeObject) => KubeObject
  /** For a subresource that shows another kind: the Scale. */
  readonly view?: {
    show(object: KubeObject): KubeObject
    put(object: KubeObject, shown: KubeObject): KubeObject
    /** Records the managed fields of the shown kind after a change. */
    own(old: KubeObject, shown: KubeObject, manager: string): void
  }
  /** RBAC escalation check of the new state; throws 403. Not set for controllers. */
  readonly guard?: (desired: KubeObject, old: KubeObject) => void
  /** True if `change` does not modify its argument and returns an object that shares nothing with it. No copy is made then. */
  readonly returnsNewObject?: boolean
  readonly part: UpdatePart
  readonly dryRun: boolean
  /** The field manager; undefined if the new state already has its managed fields. */
  readonly manager: string | undefined
  /** The uid in a PUT: the update is for this object only. */
  readonly uid?: string | undefined
  /** Receives warnings for the client. */
  readonly warnings?: string[]
}

export function updateObject(parts: ServerContext, resource: ApiResource, current: Stored, update: Update): Written {
  const pending = computeUpdate(parts, resource, current, update)
  const written = finishUpdate(parts, resource, pending, update.dryRun)
  if (written === undefined) throw staleStateConflict(resource, current)
  return written
}

/** Undefined if the current state has been replaced in the meantime. */
export function finishUpdate(
  parts: ServerContext,
  resource: ApiResource,
  pending: PendingUpdate,
  dryRun: boolean,
): Written | undefined {
  const { current, object, old } = pending
  const form = toStorage(resource, object)
  if (isUnchanged(resource, pending, form)) return { object: old, stored: current, isNew: false }
  if (dryRun) return { object: asStored(resource, object), isNew: false }
  const stored = commitUpdate(parts, resource, pending, form)
  if (stored === undefined) return undefined
  return stored === 'gone'
    ? { object, isNew: false }
    : { object: presentWritten(resource, stored, object), stored, isNew: false }
}

/** The validated new state, with read-only fields restored. */
function computeUpdate(parts: ServerContext, resource: ApiResource, current: Stored, update: Update): PendingUpdate {
  const old = presentObject(resource, current)
  const base = update.returnsNewObject ? old : presentObject(resource, current)
  const { change, view } = update
  const desired = change(view === undefined ? base : view.show(base))
  own(parts, resource, { current, old, object: desired }, update)
  const object = view === undefined ? desired : view.put(base, desired)
  update.guard?.(object, old)
  checkIdentity(resource, current, update.uid)
  return prepareForStorage(parts, resource, { current, old, object }, update)
}

/** Records the managed fields of a change, before webhooks and the kind's strategy change more. */
export function own(
  parts: ServerContext,
  resource: ApiResource,
  { current, old, object }: PendingUpdate,
  update: Update,
): void {
  const { manager, part, view } = update
  if (manager === undefined) return
  if (view === undefined) ownUpdate(parts, resource, { current, old, object }, { manager, subresource: part })
  else view.own(view.show(old), object, manager)
}

/** Prepares and validates the new state for storing. Modifies the object. */
export function prepareForStorage(
  parts: ServerContext,
  resource: ApiResource,
  pending: PendingUpdate,
  update: Update,
): PendingUpdate {
  const { current, old, object } = pending
  checkVersion(resource, object, old)
  // Only a patch can remove apiVersion; kube-apiserver cannot tell the type then.
  if (object.apiVersion === '')
    throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  prepareUpdate(resource, object, old, update.part)
  validateUpdate(parts, resource, { object, old }, update)
  update.warnings?.push(...(resource.strategy.warnings?.(object, old) ?? []))
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  // The deprecated selfLink is accepted but not stored.
  if (!update.dryRun) delete object.metadata.selfLink
  keepTimes(object, old)
  return { current, old, object }
}

/**
 * True if the update changes nothing: the version stays and no watch event is sent. The stored form decides, since an update in a
 * version with fewer fields removes those that the version does not know.
 */
export function isUnchanged(resource: ApiResource, { current, old, object }: PendingUpdate, form: KubeObject): boolean {
  const before = current.rules === resource ? old : parseStored(current)
  return isDeepEqual(form, before) && !isReadyForRemoval(resource, object)
}

/** 'gone' if the object was removed because nothing held it any more; undefined if the current state has been replaced in the meantime. */
export function commitUpdate(
  parts: ServerContext,
  resource: ApiResource,
  { current, object }: PendingUpdate,
  form: KubeObject,
): Stored | 'gone' | undefined {
  if (!isReadyForRemoval(resource, object)) return parts.store.replace(current, form, writingRules(parts, resource))
  // The response shows the object after the last update, with its old version; the deletion has a version of its own. Watches see the
  // state before the update, with its finalizers.
  return parts.store.remove(current) && 'gone'
}

function staleStateConflict(resource: ApiResource, { name }: Stored): StatusError {
  return conflict(resource, name, modified)
}

const modified = 'the object has been modified; please apply your changes to the latest version and try again'

/** True if the object is being deleted and nothing holds it any more. */
function isReadyForRemoval({ strategy }: ApiResource, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers } = object.metadata
  if (deletionTimestamp === undefined || finalizers?.length) return false
  return deletionGracePeriodSeconds === 0 && !strategy.isHeld?.(object)
}

export function checkIdentity(resource: ApiResource, current: Stored, uid: string | undefined): void {
  if (uid && uid !== current.uid) throw uidConflict(resource, current, { uid, found: current.uid })
}

/** The error for an update with a uid, if the object has another uid or does not exist. */
export function uidConflict(
  resource: ApiResource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { uid, found }: { readonly uid: string; readonly found: string },
): StatusError {
  const { group, plural, isCustom } = resource
  const key = `/registry/${isCustom ? `${group}/` : ''}${plural}/${keyOf(namespace, name)}`
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`
  const message = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`
  return conflict(resource, name, message)
}

/** The resourceVersion of an update; 0 if there is none. */
export function parsedVersion({ metadata: { resourceVersion = '' } }: KubeObject): number {
  const version = parseVersion(resourceVersion)
  if (version !== undefined) return version
  throw noVersion(resourceVersion)
}

function checkVersion(resource: ApiResource, object: KubeObject, old: KubeObject): void {
  const { resourceVersion } = object.metadata
  if (parsedVersion(object) === 0) {
    if (resource.strategy.allowsUnconditionalUpdate) return
    const error = invalid('metadata.resourceVersion', 0, 'must be specified for an update')
    throw invalidObject(resource.group, resource.plural, old.metadata.name!, [error])
  }
  if (resourceVersion !== old.metadata.resourceVersion) throw conflict(resource, old.metadata.name!, modified)
}

function prepareUpdate({ strategy }: ApiResource, object: KubeObject, old: KubeObject, part: UpdatePart): void {
  const { metadata } = object
  if (old.metadata.generation === undefined) delete metadata.generation
  else metadata.generation = old.metadata.generation
  if (part === 'status') strategy.prepareForStatusUpdate(object, old)
  else if (part === 'finalize') strategy.prepareForFinalize?.(object, old)
  else strategy.prepareForUpdate(object, old)
  const after = object.metadata
  after.uid ||= old.metadata.uid!
  after.creationTimestamp = old.metadata.creationTimestamp!
  if (old.metadata.deletionTimestamp !== undefined) after.deletionTimestamp = old.metadata.deletionTimestamp
  if (old.metadata.deletionGracePeriodSeconds !== undefined) {
    after.deletionGracePeriodSeconds ??= old.metadata.deletionGracePeriodSeconds
  }
}

function validateUpdate(
  parts: ServerContext,
  resource: ApiResource,
  change: { object: KubeObject; old: KubeObject },
  { part, warnings }: Update,
): void {
  const { object, old } = change
  const { strategy, namespaced } = resource
  const { metadata } = object
  // Metadata is validated twice, by the common rules and by the kind's, and the causes list both.
  failIfInvalid(parts, resource, object, [
    ...validateMetadata(metadata, { namespaced, nameProblems: pathSegmentNameProblems }),
    ...validateMetadataUpdate(metadata, old.metadata),
    ...(isOfAnotherType(resource, object)
      ? []
      : validateMetadataUpdate(metadata, old.metadata, metadataRules(resource))),
    ...(part === 'status'
      ? strategy.validateStatusUpdate(object, old, warnings)
      : strategy.validateUpdate(object, old, warnings)),
  ])
}
