/**
 * Deletion: at once, or marked and waiting for finalizers, for a grace period, or for the garbage collector.
 * Called by the delete verbs for clients and by the controllers for themselves.
 */

import type { KubeObject } from '../../kube/objects.ts'
import { toJsonText } from '../../util/json-text.ts'
import type { Parts } from '../call.ts'
import type { DeleteOptions } from '../options.ts'
import { presentObject } from '../present.ts'
import type { ServedResource } from '../resource.ts'
import { conflict } from '../status.ts'
import { type Stored, toStored } from '../storage/stored.ts'
import { timestamp } from './write.ts'

export const orphanFinalizer = 'orphan'
export const foregroundFinalizer = 'foregroundDeletion'

export interface Removed {
  /** The object as it was left, or as it was last where it is gone. */
  readonly object: KubeObject
  readonly isGone: boolean
}

export function deleteObject(parts: Parts, resource: ServedResource, current: Stored, options: DeleteOptions): Removed {
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

/** Whether nothing more would come of it: it is on its way, and something else holds it. */
export function isAlreadyDeleting(resource: ServedResource, object: KubeObject, options: DeleteOptions): boolean {
  const { strategy } = resource
  if (strategy.markDeleting === undefined) return gracePeriod(resource, object, options) === 'pending'
  const { deletionTimestamp, finalizers } = object.metadata
  return deletionTimestamp !== undefined && (strategy.isHeld?.(object) || !!finalizers?.length)
}

/** What can be deleted gracefully is marked even where it goes at once: watchers see it going, then gone. */
function markFirst(parts: Parts, resource: ServedResource, current: Stored, options: DeleteOptions): Stored {
  const object = presentObject(resource, current)
  if (object.metadata.generation !== undefined) object.metadata.generation += 1
  mark(parts, object, 0)
  if (options.dryRun) return toStored(current.collection, object, current.version, current.rules)
  return parts.store.replace(current, object, current.rules) ?? current
}

/** The kinds that a controller empties first. Marked only once; deleting them again changes nothing until they are let go. */
function deleteHeld(parts: Parts, resource: ServedResource, current: Stored, options: DeleteOptions): Removed {
  const object = presentObject(resource, current)
  if (object.metadata.deletionTimestamp === undefined) {
    object.metadata.deletionTimestamp = timestamp(parts)
    resource.strategy.markDeleting!(object, timestamp(parts))
    return { object: save(parts, resource, current, object, options), isGone: false }
  }
  if (isAlreadyDeleting(resource, object, options)) return { object, isGone: false }
  return remove(parts, resource, current, options)
}

function remove(parts: Parts, resource: ServedResource, current: Stored, { dryRun }: DeleteOptions): Removed {
  const last = dryRun ? current : parts.store.remove(current)
  if (last === undefined) throw conflict(resource, current.name, 'the object has been modified')
  return { object: presentObject(resource, last), isGone: true }
}

function save(
  parts: Parts,
  resource: ServedResource,
  current: Stored,
  object: KubeObject,
  { dryRun }: DeleteOptions,
): KubeObject {
  const before = presentObject(resource, current)
  if (dryRun || toJsonText(before) === toJsonText(object)) return object
  const stored = parts.store.replace(current, resource.conversion?.toStorage(object) ?? object, current.rules)
  if (stored === undefined) throw conflict(resource, current.name, 'the object has been modified')
  return presentObject(resource, stored)
}

/** Now plus the grace period; a later deletion can only bring it forward. */
function mark(parts: Parts, { metadata }: KubeObject, grace: number): void {
  const due = `${new Date(parts.clock.now() + grace * 1000).toISOString().slice(0, 19)}Z`
  if (metadata.deletionTimestamp === undefined || metadata.deletionTimestamp > due) metadata.deletionTimestamp = due
  metadata.deletionGracePeriodSeconds = grace
}

/** How long the object may still live; 'pending' where an earlier deletion already said so, and not less. */
function gracePeriod(resource: ServedResource, object: KubeObject, options: DeleteOptions): number | 'pending' {
  const { strategy } = resource
  if (strategy.gracePeriodSeconds === undefined) return 0
  const requested = options.gracePeriodSeconds
  const wanted = requested !== undefined && requested < 0 ? 1 : requested
  const { deletionTimestamp, deletionGracePeriodSeconds: left } = object.metadata
  if (deletionTimestamp === undefined) return strategy.gracePeriodSeconds(object, wanted)
  if (left === undefined || left === 0) return 0
  return wanted === undefined || wanted >= left ? 'pending' : wanted
}

/** The finalizers that the garbage collector works on, put on or taken off as the policy says; others stay. */
function finalizersFor({ strategy }: ServedResource, { metadata }: KubeObject, options: DeleteOptions): string[] {
  const present = metadata.finalizers ?? []
  if (strategy.defaultPropagation === 'None') return present
  const others = present.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer)
  return [...others, ...policyFinalizers(present, options, strategy.defaultPropagation)]
}

function policyFinalizers(
  present: readonly string[],
  options: DeleteOptions,
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

export function checkPreconditions(resource: ServedResource, { metadata }: KubeObject, options: DeleteOptions): void {
  // The real server names the kind where it otherwise names the resource.
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
