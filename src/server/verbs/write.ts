/**
 * How objects come into the store, change and leave it: what all kinds have in common (apiserver's generic registry).
 * Called by the verbs for clients and by the controllers for themselves.
 */
import { randomUUID } from 'node:crypto'
import {
  formatGroupResource,
  formatGroupVersion,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  parseGroupVersion,
} from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/equality.ts'
import type { Parts } from '../call.ts'
import { type FieldError, invalid } from '../field-errors.ts'
import { validateMetadata, validateMetadataUpdate } from '../metadata.ts'
import { generateName, pathSegmentNameProblems } from '../names.ts'
import { parseVersion } from '../options.ts'
import { presentObject } from '../present.ts'
import type { ServedResource } from '../resource.ts'
import { alreadyExists, conflict, internalError, invalidObject, notFound, StatusError } from '../status.ts'
import { keyOf, parseStored, type Stored } from '../storage/stored.ts'

/** What a write left behind: stored, or only worked out for a dry run. */
export interface Written {
  readonly object: KubeObject
  readonly stored?: Stored
  readonly isNew: boolean
}

/** What of an object an update is for: all but the status, the status, or the finalizers of a namespace's spec. */
export type Part = '' | 'status' | 'finalize'

export interface Update {
  /** Makes the wished state from the present one; called again where the present one has changed meanwhile. */
  readonly change: (current: KubeObject) => KubeObject
  /** Whether `change` leaves alone what it is given, and the wished state shares nothing with it: then it gets no copy. */
  readonly isFresh?: boolean
  readonly part: Part
  readonly dryRun: boolean
  /** A PUT that names a uid is for that one alone. */
  readonly uid?: string | undefined
  /** Where the client is told of what is accepted but should not be done. */
  readonly warnings?: string[]
}

export function timestamp(parts: Parts): string {
  return `${new Date(parts.clock.now()).toISOString().slice(0, 19)}Z`
}

/** How often a generated name is tried before giving up, as the real server does. */
const generateAttempts = 8

export function createObject(
  parts: Parts,
  resource: ServedResource,
  object: KubeObject,
  dryRun: boolean,
  warnings: string[] = [],
): Written {
  const { metadata } = object
  const isGenerated = !metadata.name && !!metadata.generateName
  for (let attempt = 1; ; attempt += 1) {
    if (isGenerated) metadata.name = generateName(metadata.generateName!)
    const written = createOnce(parts, resource, object, { dryRun, warnings })
    if (written !== undefined) return written
    if (!isGenerated) throw nameTaken(parts, resource, metadata)
    if (attempt === generateAttempts) throw generateNameConflict(resource, metadata.name!)
  }
}

function nameTaken(parts: Parts, resource: ServedResource, metadata: ObjectMeta): StatusError {
  const { namespace = '', name = '', generateName } = metadata
  // Where there is a prefix, the real server thinks that the name comes from it, even one that the client gave.
  const taken = generateName ? generateNameConflict(resource, name) : alreadyExists(resource, name)
  const present = parseStored(currentOf(parts, resource, { namespace, name }))
  if (present.metadata.deletionTimestamp === undefined) return taken
  return new StatusError(taken.code, taken.reason, `object is being deleted: ${taken.message}`, taken.details)
}

function generateNameConflict(resource: ServedResource, name: string): StatusError {
  const { group, plural } = resource
  const message = `${formatGroupResource(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`
  return new StatusError(409, 'AlreadyExists', message, {
    name,
    ...(group === '' ? {} : { group }),
    kind: plural,
    retryAfterSeconds: 1,
  })
}

/** Undefined where the name is taken. */
function createOnce(
  parts: Parts,
  resource: ServedResource,
  given: KubeObject,
  { dryRun, warnings }: { dryRun: boolean; warnings: string[] },
): Written | undefined {
  const object: KubeObject = { ...given, metadata: { ...given.metadata } }
  const { metadata } = object
  delete metadata.deletionTimestamp
  delete metadata.deletionGracePeriodSeconds
  delete metadata.selfLink
  delete metadata.resourceVersion
  metadata.uid = randomUUID()
  metadata.creationTimestamp = timestamp(parts)
  resource.strategy.prepareForCreate(object)
  const { nameProblems } = resource.strategy
  failIfInvalid(parts, resource, object, [
    ...(isOfAnotherType(resource, object)
      ? []
      : validateMetadata(object.metadata, { ...metadataRules(resource), nameProblems })),
    ...resource.strategy.validate(object),
  ])
  warnings.push(...(resource.strategy.warnings?.(object) ?? []))
  if (!dryRun && parseVersion(given.metadata.resourceVersion ?? '')) {
    // The real server means 400 here and says 500.
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created')
  }
  const key = keyOf(metadata.namespace ?? '', metadata.name!)
  if (parts.store.collection(resource.collection).get(key) !== undefined) return undefined
  if (dryRun) return { object: asStored(resource, withGivenVersion(object, given)), isNew: true }
  const stored = parts.store.create(resource.collection, toStorage(resource, object), writingRules(parts, resource))
  return stored && { object: presentWritten(resource, stored, object), stored, isNew: true }
}

/** What was just written, without reading it back where that would show the same. */
function presentWritten(resource: ServedResource, stored: Stored, object: KubeObject): KubeObject {
  return stored.rules === resource ? object : presentObject(resource, stored)
}

/** Only the store would mind, which a dry run does not come to. */
function withGivenVersion(object: KubeObject, { metadata: { resourceVersion } }: KubeObject): KubeObject {
  return resourceVersion ? { ...object, metadata: { ...object.metadata, resourceVersion } } : object
}

function toStorage(resource: ServedResource, object: KubeObject): KubeObject {
  return resource.conversion?.toStorage(object) ?? object
}

/** As it would come back from the store: another version may not know of all its fields. */
function asStored({ conversion }: ServedResource, object: KubeObject): KubeObject {
  return conversion?.fromStorage(conversion.toStorage(object)) ?? object
}

/** What came by another version than the stored one has not been read by the rules of any yet: defaults are missing. */
const unread: object = {}

function rulesOf(parts: Parts, resource: ServedResource): ServedResource {
  return resource.conversion === undefined ? resource : (parts.registry.storageOf(resource.collection) ?? resource)
}

function writingRules(parts: Parts, resource: ServedResource): object {
  return resource.isCustom && resource.conversion !== undefined ? unread : rulesOf(parts, resource)
}

function failIfInvalid(
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
function isOfAnotherType({ group, version, kind, isCustom }: ServedResource, object: KubeObject): boolean {
  if (!isCustom) return false
  return object.kind !== kind || object.apiVersion !== formatGroupVersion(group, version)
}

/** A finalizer without a domain is Kubernetes' own or a mistake; custom resources get away with a warning. */
function metadataRules(resource: ServedResource): { namespaced: boolean; needsStandardFinalizers: boolean } {
  const isExtension = resource.isCustom || resource.group === 'apiextensions.k8s.io'
  return { namespaced: resource.namespaced, needsStandardFinalizers: !isExtension }
}

/** The present state, or a 404. */
export function currentOf(parts: Parts, resource: ServedResource, key: { namespace: string; name: string }): Stored {
  const stored = parts.store.collection(resource.collection).get(keyOf(key.namespace, key.name))
  if (stored === undefined) throw notFound(resource, key.name)
  return stored
}

export function updateObject(parts: Parts, resource: ServedResource, current: Stored, update: Update): Written {
  const old = presentObject(resource, current)
  const object = update.change(update.isFresh ? old : presentObject(resource, current))
  checkIdentity(resource, current, update.uid)
  checkVersion(resource, object, old)
  // Only a patch can take it off: without one, the real server does not know what it has before it.
  if (object.apiVersion === '')
    throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  prepareUpdate(resource, object, old, update.part)
  validateUpdate(parts, resource, { object, old }, update.part)
  update.warnings?.push(...(resource.strategy.warnings?.(object, old) ?? []))
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  // Links of an object to itself are a thing of the past: nobody refuses them, nobody keeps them.
  if (!update.dryRun) delete object.metadata.selfLink
  // No write that changes nothing: the version stays, and no watcher hears of it. What counts is what is stored: an update
  // by way of a version with fewer fields takes those off that it does not know.
  const before = current.rules === resource ? old : parseStored(current)
  const isSame = isDeepEqual(toStorage(resource, object), before)
  if (isSame && !isReadyToGo(resource, object)) return { object: old, stored: current, isNew: false }
  if (update.dryRun) return { object: asStored(resource, object), isNew: false }
  if (isReadyToGo(resource, object)) return finishDeletion(parts, resource, current, object)
  const stored = parts.store.replace(current, toStorage(resource, object), writingRules(parts, resource))
  if (stored === undefined) throw conflict(resource, current.name, modified)
  return { object: presentWritten(resource, stored, object), stored, isNew: false }
}

const modified = 'the object has been modified; please apply your changes to the latest version and try again'

/** Marked for deletion, and nobody holds it any more. */
function isReadyToGo({ strategy }: ServedResource, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers } = object.metadata
  if (deletionTimestamp === undefined || finalizers?.length) return false
  return deletionGracePeriodSeconds === 0 && !strategy.isHeld?.(object)
}

function finishDeletion(parts: Parts, resource: ServedResource, current: Stored, object: KubeObject): Written {
  // The answer shows the object as the last update left it, under the version it had: the deletion gets one of its own.
  // Watchers see the state before it, finalizers and all.
  if (parts.store.remove(current) === undefined) throw conflict(resource, current.name, modified)
  return { object, isNew: false }
}

function checkIdentity(resource: ServedResource, current: Stored, uid: string | undefined): void {
  if (!uid || uid === current.uid) return
  const { group, plural, isCustom } = resource
  const key = `/registry/${isCustom ? `${group}/` : ''}${plural}/${current.key}`
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.uid}`
  throw conflict(
    resource,
    current.name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`,
  )
}

function checkVersion(resource: ServedResource, object: KubeObject, old: KubeObject): void {
  const { resourceVersion } = object.metadata
  const version = parseVersion(resourceVersion ?? '')
  if (version === undefined) {
    // The real server means 400 here and says 500.
    throw new StatusError(500, '', `strconv.ParseUint: parsing "${resourceVersion}": invalid syntax`)
  }
  if (version === 0) {
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
  part: Part,
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
    ...(part === 'status' ? strategy.validateStatusUpdate(object, old) : strategy.validateUpdate(object, old)),
  ])
}

/** A reference given twice is kept once; the client is told which. */
export function dropDuplicateOwners(object: KubeObject, warnings: string[], isPatch = false): void {
  const owners = object.metadata.ownerReferences
  if (owners === undefined || owners.length < 2) return
  const kept: OwnerReference[] = []
  const dropped: string[] = []
  for (const owner of owners) {
    if (kept.some((other) => isDeepEqual(other, owner))) dropped.push(owner.uid)
    else kept.push(owner)
  }
  if (dropped.length === 0) return
  object.metadata.ownerReferences = kept
  // Patched objects are looked at only once, after admission.
  const when = isPatch ? ' after mutating admission happens' : ''
  warnings.push(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${dropped.join(', ')}`,
  )
}
