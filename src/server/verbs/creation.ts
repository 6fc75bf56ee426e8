/**
 * Creation of objects: the part that all kinds share (apiserver's generic registry). Called by the verbs for clients and by the server
 * for its own objects.
 */
import { randomUUID } from 'node:crypto'
import { formatGroupResource, type KubeObject, type ObjectMeta } from '../../kube/objects.ts'
import type { ServerContext } from '../call.ts'
import { validateMetadata } from '../metadata.ts'
import { generateName } from '../names.ts'
import { parseVersion } from '../options.ts'
import { admitPriority } from '../pod-priority.ts'
import type { ApiResource } from '../resource.ts'
import { alreadyExists, StatusError } from '../status.ts'
import { parseStored } from '../storage/stored.ts'
import {
  asStored,
  currentOf,
  failIfInvalid,
  isOfAnotherType,
  isTaken,
  metadataRules,
  presentWritten,
  timestamp,
  toStorage,
  type Written,
  writingRules,
} from './write.ts'

/** Attempts with generated names, as in kube-apiserver. */
export const generateAttempts = 8

export function createObject(
  parts: ServerContext,
  resource: ApiResource,
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
    if (!isGenerated || attempt === generateAttempts) throw nameTaken(parts, resource, metadata, isGenerated)
  }
}

export function nameTaken(
  parts: ServerContext,
  resource: ApiResource,
  metadata: ObjectMeta,
  isGenerated: boolean,
): StatusError {
  const { namespace = '', name = '', generateName } = metadata
  if (isGenerated) return generateNameConflict(resource, name)
  // With a generateName, kube-apiserver assumes that the name was generated, even if the client gave one.
  const taken = generateName ? generateNameConflict(resource, name) : alreadyExists(resource, name)
  const present = parseStored(currentOf(parts, resource, { namespace, name }))
  if (present.metadata.deletionTimestamp === undefined) return taken
  return new StatusError(taken.code, taken.reason, `object is being deleted: ${taken.message}`, taken.details)
}

function generateNameConflict(resource: ApiResource, name: string): StatusError {
  const { group, plural } = resource
  const message = `${formatGroupResource(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`
  return new StatusError(409, 'AlreadyExists', message, {
    name,
    ...(group === '' ? {} : { group }),
    kind: plural,
    retryAfterSeconds: 1,
  })
}

/** Undefined if the name exists. */
function createOnce(
  parts: ServerContext,
  resource: ApiResource,
  given: KubeObject,
  { dryRun, warnings }: { dryRun: boolean; warnings: string[] },
): Written | undefined {
  const object = prepareCreation(parts, resource, given, { dryRun, warnings })
  return commitCreation(parts, resource, { object, given }, dryRun)
}

/** Undefined if the name exists. */
export function commitCreation(
  parts: ServerContext,
  resource: ApiResource,
  { object, given }: { object: KubeObject; given: KubeObject },
  dryRun: boolean,
): Written | undefined {
  if (isTaken(parts, resource, object.metadata)) return undefined
  if (dryRun) return { object: asStored(resource, withGivenVersion(object, given)), isNew: true }
  const stored = parts.store.create(resource.collection, toStorage(resource, object), writingRules(parts, resource))
  return stored && { object: presentWritten(resource, stored, object), stored, isNew: true }
}

/** Returns the object to store, with the fields that the server sets. Throws if it is invalid. */
export function prepareCreation(
  parts: ServerContext,
  resource: ApiResource,
  given: KubeObject,
  { dryRun, warnings }: { dryRun: boolean; warnings: string[] },
): KubeObject {
  const object: KubeObject = { ...given, metadata: { ...given.metadata } }
  const { metadata } = object
  delete metadata.selfLink
  delete metadata.resourceVersion
  metadata.uid = randomUUID()
  metadata.creationTimestamp = timestamp(parts)
  if (resource.collection === 'pods') admitPriority(parts.store, resource, object)
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
    // kube-apiserver intends 400 here but sends 500.
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created')
  }
  return object
}

/** Only the store rejects a resourceVersion, and a dry run does not reach it. */
function withGivenVersion(object: KubeObject, { metadata: { resourceVersion } }: KubeObject): KubeObject {
  return resourceVersion ? { ...object, metadata: { ...object.metadata, resourceVersion } } : object
}
