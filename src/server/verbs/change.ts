/**
 * How objects change, and leave the store when nobody holds them any more: what all kinds have in common (apiserver's generic
 * registry). Called by the verbs for clients and by the controllers for themselves.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/equality.ts'
import type { Parts } from '../call.ts'
import { invalid } from '../field-errors.ts'
import { validateMetadata, validateMetadataUpdate } from '../metadata.ts'
import { pathSegmentNameProblems } from '../names.ts'
import { parseVersion } from '../options.ts'
import { keepTimes } from '../ownership/times.ts'
import { presentObject } from '../present.ts'
import type { ServedResource } from '../resource.ts'
import { conflict, internalError, invalidObject, noVersion, type StatusError } from '../status.ts'
import { keyOf, parseStored, type Stored } from '../storage/stored.ts'
import { ownUpdate } from './owning.ts'
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

/** What of an object an update is for: all but the status, the status, or the finalizers of a namespace's spec. */
export type Part = '' | 'status' | 'finalize'

export interface Update {
  /** Makes the wished state from the present one; called again where the present one has changed meanwhile. */
  readonly change: (current: KubeObject) => KubeObject
  /** Where clients see something else than the object, and change that: its scale. */
  readonly lens?: {
    show(object: KubeObject): KubeObject
    put(object: KubeObject, shown: KubeObject): KubeObject
    /** Notes down whose the fields of what is shown are after a change. */
    own(old: KubeObject, shown: KubeObject, manager: string): void
  }
  /** Whether whoever asks for it may have what the change makes; throws where not. Controllers need not ask. */
  readonly guard?: (wished: KubeObject, old: KubeObject) => void
  /** Whether `change` leaves alone what it is given, and the wished state shares nothing with it: then it gets no copy. */
  readonly isFresh?: boolean
  readonly part: Part
  readonly dryRun: boolean
  /** In whose name; undefined where the wished state says itself who owns what. */
  readonly manager: string | undefined
  /** A PUT that names a uid is for that one alone. */
  readonly uid?: string | undefined
  /** Where the client is told of what is accepted but should not be done. */
  readonly warnings?: string[]
}

export function updateObject(parts: Parts, resource: ServedResource, current: Stored, update: Update): Written {
  const wish = wishedState(parts, resource, current, update)
  const written = finishUpdate(parts, resource, wish, update.dryRun)
  if (written === undefined) throw outrun(resource, current)
  return written
}

/** Undefined where somebody was faster. */
export function finishUpdate(parts: Parts, resource: ServedResource, wish: Wish, dryRun: boolean): Written | undefined {
  const { current, object, old } = wish
  const form = toStorage(resource, object)
  if (isUnchanged(resource, wish, form)) return { object: old, stored: current, isNew: false }
  if (dryRun) return { object: asStored(resource, object), isNew: false }
  const stored = commitUpdate(parts, resource, wish, form)
  if (stored === undefined) return undefined
  return stored === 'gone'
    ? { object, isNew: false }
    : { object: presentWritten(resource, stored, object), stored, isNew: false }
}

/** What an update makes of a state, in the version of the resource. */
export interface Wish {
  readonly current: Stored
  readonly old: KubeObject
  readonly object: KubeObject
}

/** With nothing wrong with it, and with what a client cannot change as it was. */
function wishedState(parts: Parts, resource: ServedResource, current: Stored, update: Update): Wish {
  const old = presentObject(resource, current)
  const base = update.isFresh ? old : presentObject(resource, current)
  const { change, lens } = update
  const wished = change(lens === undefined ? base : lens.show(base))
  own(parts, resource, { current, old, object: wished }, update)
  const object = lens === undefined ? wished : lens.put(base, wished)
  update.guard?.(object, old)
  checkIdentity(resource, current, update.uid)
  return settleWish(parts, resource, { current, old, object }, update)
}

/** Notes down whose the fields are that change; before webhooks and the rules of the kind change more. */
export function own(parts: Parts, resource: ServedResource, { current, old, object }: Wish, update: Update): void {
  const { manager, part, lens } = update
  if (manager === undefined) return
  if (lens === undefined) ownUpdate(parts, resource, { current, old, object }, { manager, subresource: part })
  else lens.own(lens.show(old), object, manager)
}

/** What is wished for, made into what can be stored. Changes the object that it is given. */
export function settleWish(parts: Parts, resource: ServedResource, wish: Wish, update: Update): Wish {
  const { current, old, object } = wish
  checkVersion(resource, object, old)
  // Only a patch can take it off: without one, the real server does not know what it has before it.
  if (object.apiVersion === '')
    throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  prepareUpdate(resource, object, old, update.part)
  validateUpdate(parts, resource, { object, old }, update)
  update.warnings?.push(...(resource.strategy.warnings?.(object, old) ?? []))
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  // Links of an object to itself are a thing of the past: nobody refuses them, nobody keeps them.
  if (!update.dryRun) delete object.metadata.selfLink
  keepTimes(object, old)
  return { current, old, object }
}

/**
 * No write that changes nothing: the version stays, and no watcher hears of it. What counts is what is stored: an update by
 * way of a version with fewer fields takes those off that it does not know.
 */
export function isUnchanged(resource: ServedResource, { current, old, object }: Wish, form: KubeObject): boolean {
  const before = current.rules === resource ? old : parseStored(current)
  return isDeepEqual(form, before) && !isReadyToGo(resource, object)
}

/** 'gone' where nothing held it any more; undefined where somebody was faster. */
export function commitUpdate(
  parts: Parts,
  resource: ServedResource,
  { current, object }: Wish,
  form: KubeObject,
): Stored | 'gone' | undefined {
  if (!isReadyToGo(resource, object)) return parts.store.replace(current, form, writingRules(parts, resource))
  // The answer shows the object as the last update left it, under the version it had: the deletion gets one of its own.
  // Watchers see the state before it, finalizers and all.
  return parts.store.remove(current) && 'gone'
}

function outrun(resource: ServedResource, { name }: Stored): StatusError {
  return conflict(resource, name, modified)
}

const modified = 'the object has been modified; please apply your changes to the latest version and try again'

/** Marked for deletion, and nobody holds it any more. */
function isReadyToGo({ strategy }: ServedResource, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers } = object.metadata
  if (deletionTimestamp === undefined || finalizers?.length) return false
  return deletionGracePeriodSeconds === 0 && !strategy.isHeld?.(object)
}

export function checkIdentity(resource: ServedResource, current: Stored, uid: string | undefined): void {
  if (uid && uid !== current.uid) throw uidConflict(resource, current, { uid, found: current.uid })
}

/** An update for one object, where there is another of that name, or none. */
export function uidConflict(
  resource: ServedResource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { uid, found }: { readonly uid: string; readonly found: string },
): StatusError {
  const { group, plural, isCustom } = resource
  const key = `/registry/${isCustom ? `${group}/` : ''}${plural}/${keyOf(namespace, name)}`
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`
  const message = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`
  return conflict(resource, name, message)
}

/** The version that an update names; 0 for none. */
export function parsedVersion({ metadata: { resourceVersion = '' } }: KubeObject): number {
  const version = parseVersion(resourceVersion)
  if (version !== undefined) return version
  throw noVersion(resourceVersion)
}

function checkVersion(resource: ServedResource, object: KubeObject, old: KubeObject): void {
  const { resourceVersion } = object.metadata
  if (parsedVersion(object) === 0) {
    if (resource.strategy.allowsUnconditionalUpdate) return
    const error = invalid('metadata.resourceVersion', 0, 'must be specified for an update')
    throw invalidObject(resource.group, resource.plural, old.metadata.name!, [error])
  }
  if (resourceVersion !== old.metadata.resourceVersion) throw conflict(resource, old.metadata.name!, modified)
}

function prepareUpdate({ strategy }: ServedResource, object: KubeObject, old: KubeObject, part: Part): void {
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
  parts: Parts,
  resource: ServedResource,
  change: { object: KubeObject; old: KubeObject },
  { part, warnings }: Update,
): void {
  const { object, old } = change
  const { strategy, namespaced } = resource
  const { metadata } = object
  // Metadata is looked at twice, by all kinds alike and by the kind: the causes list both.
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
