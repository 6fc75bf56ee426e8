/**
 * The garbage collector: deletes objects whose owners are gone, holds owners in foreground deletion until their blocking
 * dependents are gone, and removes owner references from orphans. Driven by changes in the store, never by requests.
 */
import { type KubeObject, type OwnerReference, parseGroupVersion } from '../../kube/objects.ts'
import type { ServerContext } from '../call.ts'
import type { DeleteRequestOptions, PropagationPolicy } from '../options.ts'
import { parseStored, type StoreChange, type Stored } from '../storage/stored.ts'
import { foregroundFinalizer, orphanFinalizer } from '../verbs/remove.ts'
import { ControllerClient } from './controller-client.ts'
import { MicrotaskQueue } from './microtask-queue.ts'

const controller = 'generic-garbage-collector'

export class GarbageCollector {
  readonly #parts: ServerContext
  readonly #client: ControllerClient

  /** All objects by UID. */
  readonly #objects = new Map<string, Stored>()

  /** Owner UID → UIDs of its dependents. */
  readonly #dependents = new Map<string, Set<string>>()

  /** Owner UID → UIDs of the dependents that block its foreground deletion. */
  readonly #blocking = new Map<string, Set<string>>()

  /**
   * Owner revisions whose blocking dependents are already queued, so that the deletion of one dependent does not queue all
   * others again.
   */
  readonly #awaited = new WeakSet<Stored>()

  readonly #orphaned: MicrotaskQueue<string>
  readonly #deleting: MicrotaskQueue<string>

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#orphaned = new MicrotaskQueue(parts, controller, (uid) => this.#collect(uid))
    this.#deleting = new MicrotaskQueue(parts, controller, (uid) => this.#finalize(uid))
    this.#client = new ControllerClient(parts, controller, (stored) => this.#requeue(stored))
    parts.store.subscribe(undefined, (change) => this.#handleChange(change))
  }

  #handleChange({ type, current, previous }: StoreChange): void {
    for (const owner of previous?.owners ?? []) this.#dependents.get(owner)?.delete(current.uid)
    for (const owner of previous?.blockedOwners ?? []) removeFrom(this.#blocking, owner, current.uid)
    if (type === 'DELETED') this.#remove(current)
    else this.#add(current)
  }

  #add(stored: Stored): void {
    this.#objects.set(stored.uid, stored)
    for (const owner of stored.owners ?? []) {
      const dependents = this.#dependents.get(owner) ?? new Set()
      this.#dependents.set(owner, dependents.add(stored.uid))
    }
    for (const owner of stored.blockedOwners ?? []) {
      const blocking = this.#blocking.get(owner) ?? new Set()
      this.#blocking.set(owner, blocking.add(stored.uid))
    }
    if (stored.owners !== undefined) this.#orphaned.add(stored.uid)
    if (isFinalizing(stored)) this.#deleting.add(stored.uid)
  }

  #remove(stored: Stored): void {
    this.#objects.delete(stored.uid)
    for (const dependent of this.#dependents.get(stored.uid) ?? []) this.#orphaned.add(dependent)
    // An owner in foreground deletion may have no blocking dependents left.
    for (const owner of stored.owners ?? []) {
      if (this.#dependents.get(owner)?.size === 0) this.#dependents.delete(owner)
      this.#deleting.add(owner)
    }
  }

  /** Re-queues an object after its webhooks have responded, and its owners, which may wait for it. */
  #requeue({ uid, owners = [] }: Stored): void {
    this.#orphaned.add(uid)
    for (const each of [uid, ...owners]) this.#deleting.add(each)
  }

  /**
   * Deletes a dependent whose owners are all gone or in foreground deletion. If some owners remain, removes the references to
   * the others.
   */
  #collect(uid: string): void {
    const stored = this.#objects.get(uid)
    if (stored === undefined) return
    const dependent = parseStored(stored)
    // Already being deleted; its finalizers decide when, so a second delete would change nothing.
    if (dependent.metadata.deletionTimestamp !== undefined) return
    const owners = dependent.metadata.ownerReferences ?? []
    const states = owners.map((owner) => this.#stateOf(owner, dependent))
    if (owners.length === 0 || states.includes('unknown')) return
    if (!states.includes('solid')) {
      if (states.includes('waiting') || states.includes('absent')) this.#delete(stored, policyFor(dependent, states))
      return
    }
    const kept = owners.filter((_, index) => states[index] === 'solid')
    if (kept.length < owners.length) this.#update(stored, (object) => setOwners(object, kept))
  }

  #stateOf(owner: OwnerReference, dependent: KubeObject): 'solid' | 'waiting' | 'absent' | 'unknown' {
    const stored = this.#objects.get(owner.uid)
    if (stored === undefined || !isReachable(stored, dependent)) return this.#isServed(owner) ? 'absent' : 'unknown'
    if (!isFinalizing(stored) || !owner.blockOwnerDeletion) return 'solid'
    return stored.finalizers?.includes(foregroundFinalizer) ? 'waiting' : 'solid'
  }

  /** If the owner's kind is not served (yet), its existence is unknown. */
  #isServed({ apiVersion, kind }: OwnerReference): boolean {
    const group = parseGroupVersion(apiVersion)?.group
    return group !== undefined && this.#parts.registry.findByKind(group, kind) !== undefined
  }

  /** Handles the garbage collector's own two finalizers on an object that is being deleted. */
  #finalize(uid: string): void {
    const stored = this.#objects.get(uid)
    if (stored === undefined || !isFinalizing(stored)) return
    const { finalizers = [] } = stored
    if (finalizers.includes(orphanFinalizer)) this.#releaseDependents(stored)
    else if (finalizers.includes(foregroundFinalizer)) this.#awaitDependents(stored)
  }

  #releaseDependents(owner: Stored): void {
    for (const dependent of this.#dependentsOf(owner)) {
      this.#update(dependent, (object) => {
        const others = object.metadata.ownerReferences?.filter(({ uid }) => uid !== owner.uid) ?? []
        return setOwners(object, others)
      })
    }
    // Webhooks may delay the updates of the dependents. Removing the finalizer earlier would delete the dependents with the
    // owner.
    if (this.#dependentsOf(owner).length === 0) this.#dropFinalizer(owner, orphanFinalizer)
  }

  #awaitDependents(owner: Stored): void {
    const blocking = this.#blocking.get(owner.uid)
    if (blocking === undefined) {
      this.#dropFinalizer(owner, foregroundFinalizer)
      return
    }
    if (this.#awaited.has(owner)) return
    this.#awaited.add(owner)
    for (const uid of blocking) this.#orphaned.add(uid)
  }

  #dependentsOf(owner: Stored): Stored[] {
    const uids = [...(this.#dependents.get(owner.uid) ?? [])]
    return uids.map((uid) => this.#objects.get(uid)).filter((stored) => stored !== undefined)
  }

  #dropFinalizer(stored: Stored, finalizer: string): void {
    this.#update(stored, (object) => {
      const kept = object.metadata.finalizers?.filter((name) => name !== finalizer) ?? []
      const { finalizers: _, ...metadata } = object.metadata
      return { ...object, metadata: kept.length === 0 ? metadata : { ...metadata, finalizers: kept } }
    })
  }

  #update(stored: Stored, change: (object: KubeObject) => KubeObject): void {
    const current = this.#objects.get(stored.uid)
    if (current === undefined) return
    const resource = this.#parts.registry.resourceForStoredVersion(current)
    if (resource !== undefined) this.#client.update(resource, current, change)
  }

  #delete(stored: Stored, propagationPolicy: PropagationPolicy): void {
    const resource = this.#parts.registry.resourceForStoredVersion(stored)
    if (resource === undefined) return
    const preconditions = { uid: stored.uid, resourceVersion: String(stored.version) }
    this.#client.delete(resource, stored, { ...plainDeletion, propagationPolicy, ...preconditions })
  }
}

export const plainDeletion: DeleteRequestOptions = {
  dryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  orphanDependents: undefined,
  uid: undefined,
  resourceVersion: undefined,
}

function removeFrom(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key)
  set?.delete(value)
  if (set?.size === 0) sets.delete(key)
}

/** True if the object is being deleted and has finalizers. */
function isFinalizing(stored: Stored): boolean {
  return stored.isDeleting && stored.finalizers !== undefined
}

/** An owner is cluster-scoped or in the same namespace. */
function isReachable(owner: Stored, dependent: KubeObject): boolean {
  return owner.namespace === '' || owner.namespace === (dependent.metadata.namespace ?? '')
}

function policyFor({ metadata }: KubeObject, states: readonly string[]): PropagationPolicy {
  if (metadata.finalizers?.includes(orphanFinalizer)) return 'Orphan'
  if (metadata.finalizers?.includes(foregroundFinalizer) || states.includes('waiting')) return 'Foreground'
  return 'Background'
}

function setOwners(object: KubeObject, owners: readonly OwnerReference[]): KubeObject {
  const { ownerReferences: _, ...metadata } = object.metadata
  return { ...object, metadata: owners.length === 0 ? metadata : { ...metadata, ownerReferences: [...owners] } }
}
