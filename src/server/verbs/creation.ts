/**
 * How objects come into the store: what all kinds have in common (apiserver's generic registry). Called by the verbs for
 * clients and by the server for itself.
 */
import { randomUUID } from 'node:crypto'
import { formatGroupResource, type KubeObject, type ObjectMeta } from '../../kube/objects.ts'
import type { Parts } from '../call.ts'
import { validateMetadata } from '../metadata.ts'
import { generateName } from '../names.ts'
import { parseVersion } from '../options.ts'
import { admitPriority } from '../pod-priority.ts'
import type { ServedResource } from '../resource.ts'
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

/** How often a generated name is tried before giving up, as the real server does. */
export const generateAttempts = 8

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
    if (!isGenerated || attempt === generateAttempts) throw nameTaken(parts, resource, metadata, isGenerated)
  }
}

export function nameTaken(
  parts: Parts,
  resource: ServedResource,
  metadata: ObjectMeta,
  isGenerated: boolean,
): StatusError {
  const { namespace = '', name = '', generateName } = metadata
  if (isGenerated) return generateNameConflict(resource, name)
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
  const object = prepareCreation(parts, resource, given, { dryRun, warnings })
  return commitCreation(parts, resource, { object, given }, dryRun)
}

/** Undefined where the name is taken. */
export function commitCreation(
  parts: Parts,
  resource: ServedResource,
  { object, given }: { object: KubeObject; given: KubeObject },
  dryRun: boolean,
): Written | undefined {
  if (isTaken(parts, resource, object.metadata)) return undefined
  if (dryRun) return { object: asStored(resource, withGivenVersion(object, given)), isNew: true }
  const stored = parts.store.create(resource.collection, toStorage(resource, object), writingRules(parts, resource))
  return stored && { object: presentWritten(resource, stored, object), stored, isNew: true }
}

/** The object as it is to be stored: what the server has to say about it is filled in, and nothing is wrong with it. */
export function prepareCreation(
  parts: Parts,
  resource: ServedResource,
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
    // The real server means 400 here and says 500.
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created')
  }
  return object
}

/** Only the store would mind, which a dry run does not come to. */
function withGivenVersion(object: KubeObject, { metadata: { resourceVersion } }: KubeObject): KubeObject {
  return resourceVersion ? { ...object, metadata: { ...object.metadata, resourceVersion } } : object
}
