/**
 * Deletion: immediate, or marked with a deletionTimestamp until finalizers, the grace period or the garbage collector are done. Called
 * by the delete verbs and by controllers.
 */

import type { KubeObject } from '../../kube/objects.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import type { ServerContext } from '../call.ts'
import type { DeleteRequestOptions } from '../options.ts'
import { presentObject } from '../present.ts'
import type { ApiResource } from '../resource.ts'
import { conflict } from '../status.ts'
import { type Stored, toStored } from '../storage/stored.ts'
import { timestamp } from './write.ts'

export const orphanFinalizer = 'orphan'
export const foregroundFinalizer = 'foregroundDeletion'

export interface Removed {
  /** The object after the deletion request, or its last state if it is gone. */
  readonly object: KubeObject
  readonly isGone: boolean
}

export function deleteObject(
  parts: ServerContext,
  resource: ApiResource,
  current: Stored,
  options: DeleteRequestOptions,
): Removed {
  const object = presentObject(resource, current)
  checkPreconditions(resource, object, options)
  if (resource.strategy.markDeleting !== undefined) return deleteHeld(parts, resource, current, options)
  const grace = gracePeriod(resource, object, options)
  if (grace === 'pending') return { object, isGone: false }
  const finalizers = finalizersFor(resource, object, options)
  const isMarked = object.metadata.deletionTimestamp !== undefined
  const isGraceful = resource.strategy.gracePeriodSeconds !== undefined
  if (finalizers.length === 0 && grace === 0) {
    const marked = isGraceful && !isMarked ? markFirst(parts, resource, current, options) : current
    return remove(parts, resource, marked, options)
  }
  if (finalizers.length === 0) delete object.metadata.finalizers
  else object.metadata.finalizers = finalizers
  if (!isMarked && object.metadata.generation !== undefined) object.metadata.generation += 1
  mark(parts, object, grace)
  return { object: save(parts, resource, current, object, options), isGone: false }
}

/** True if a deletion would change nothing: the object is being deleted already, and something else holds it. */
export function isAlreadyDeleting(resource: ApiResource, object: KubeObject, options: DeleteRequestOptions): boolean {
  const { strategy } = resource
  if (strategy.markDeleting === undefined) return gracePeriod(resource, object, options) === 'pending'
  const { deletionTimestamp, finalizers } = object.metadata
  return deletionTimestamp !== undefined && (strategy.isHeld?.(object) || !!finalizers?.length)
}

/** Kinds with graceful deletion are marked even if removed immediately: watches see MODIFIED, then DELETED. */
function markFirst(
  parts: ServerContext,
  resource: ApiResource,
  current: Stored,
  options: DeleteRequestOptions,
): Stored {
  const object = presentObject(resource, current)
  if (object.metadata.generation !== undefined) object.metadata.generation += 1
  mark(parts, object, 0)
  if (options.dryRun) return toStored(current.collection, object, current.version, current.rules)
  return parts.store.replace(current, object, current.rules) ?? current
}

/**
 * For kinds that a controller empties first (namespaces, CRDs). Marked once; further deletions change nothing until the finalizers are
 * removed.
 */
function deleteHeld(
  parts: ServerContext,
  resource: ApiResource,
  current: Stored,
  options: DeleteRequestOptions,
): Removed {
  const object = presentObject(resource, current)
  if (object.metadata.deletionTimestamp === undefined) {
    object.metadata.deletionTimestamp = timestamp(parts)
    resource.strategy.markDeleting!(object, timestamp(parts))
    return { object: save(parts, resource, current, object, options), isGone: false }
  }
  if (isAlreadyDeleting(resource, object, options)) return { object, isGone: false }
  return remove(parts, resource, current, options)
}

function remove(
  parts: ServerContext,
  resource: ApiResource,
  current: Stored,
  { dryRun }: DeleteRequestOptions,
): Removed {
  const last = dryRun ? current : parts.store.remove(current)
  if (last === undefined) throw conflict(resource, current.name, 'the object has been modified')
  return { object: presentObject(resource, last), isGone: true }
}

function save(
  parts: ServerContext,
  resource: ApiResource,
  current: Stored,
  object: KubeObject,
  { dryRun }: DeleteRequestOptions,
): KubeObject {
  const before = presentObject(resource, current)
  if (dryRun || toJsonText(before) === toJsonText(object)) return object
  const stored = parts.store.replace(current, resource.conversion?.toStorage(object) ?? object, current.rules)
  if (stored === undefined) throw conflict(resource, current.name, 'the object has been modified')
  return presentObject(resource, stored)
}

/** Sets the deletionTimestamp to now plus the grace period; a later deletion can only shorten it. */
function mark(parts: ServerContext, { metadata }: KubeObject, grace: number): void {
  const due = `${new Date(parts.clock.now() + grace * 1000).toISOString().slice(0, 19)}Z`
  if (metadata.deletionTimestamp === undefined || metadata.deletionTimestamp > due) metadata.deletionTimestamp = due
  metadata.deletionGracePeriodSeconds = grace
}

/** The grace period of this deletion; 'pending' if an earlier deletion has set one that is not longer. */
function gracePeriod(resource: ApiResource, object: KubeObject, options: DeleteRequestOptions): number | 'pending' {
  const { strategy } = resource
  if (strategy.gracePeriodSeconds === undefined) return 0
  const requested = options.gracePeriodSeconds
  const wanted = requested !== undefined && requested < 0 ? 1 : requested
  const { deletionTimestamp, deletionGracePeriodSeconds: left } = object.metadata
  if (deletionTimestamp === undefined) return strategy.gracePeriodSeconds(object, wanted)
  if (left === undefined || left === 0) return 0
  return wanted === undefined || wanted >= left ? 'pending' : wanted
}

/** Adds or removes the garbage collector's finalizers as the propagation policy requires; other finalizers stay. */
function finalizersFor({ strategy }: ApiResource, { metadata }: KubeObject, options: DeleteRequestOptions): string[] {
  const present = metadata.finalizers ?? []
  if (strategy.defaultPropagation === 'None') return present
  const others = present.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer)
  return [...others, ...policyFinalizers(present, options, strategy.defaultPropagation)]
}

function policyFinalizers(
  present: readonly string[],
  options: DeleteRequestOptions,
  byDefault: 'Orphan' | undefined,
): string[] {
  if (options.orphanDependents !== undefined) return options.orphanDependents ? [orphanFinalizer] : []
  switch (options.propagationPolicy) {
    case 'Orphan':
      return [orphanFinalizer]
    case 'Foreground':
      return [foregroundFinalizer]
    case 'Background':
      return []
    default: {
      const own = present.filter((name) => name === orphanFinalizer || name === foregroundFinalizer).slice(0, 1)
      return own.length === 0 && byDefault === 'Orphan' ? [orphanFinalizer] : own
    }
  }
}

export function checkPreconditions(
  resource: ApiResource,
  { metadata }: KubeObject,
  options: DeleteRequestOptions,
): void {
  // kube-apiserver uses the kind here instead of the resource.
  const subject = { group: resource.group, plural: resource.kind }
  const { name = '', uid, resourceVersion } = metadata
  if (options.uid !== undefined && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`
    throw conflict(subject, name, why)
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`
    throw conflict(subject, name, why)
  }
}
