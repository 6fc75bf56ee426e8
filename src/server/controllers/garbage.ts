/**
 * The garbage collector: what lost its owners goes, an owner deleted in the foreground waits for those that block it,
 * and orphans are set free. Follows from changes in the store, never from requests.
 */
import type { KubeObject, OwnerReference } from '../../kube/objects.ts'
import { parseGroupVersion } from '../../kube/objects.ts'
import type { Parts } from '../call.ts'
import type { DeleteOptions, PropagationPolicy } from '../options.ts'
import { type Change, parseStored, type Stored } from '../storage/stored.ts'
import { foregroundFinalizer, orphanFinalizer } from '../verbs/remove.ts'
import { FollowUp } from './follow-up.ts'
import { Hand } from './hand.ts'

const controller = 'generic-garbage-collector'

export class GarbageCollector {
  readonly #parts: Parts
  readonly #hand: Hand

  /** Every object there is, by uid. */
  readonly #living = new Map<string, Stored>()

  /** The uids of those that name a uid as their owner. */
  readonly #dependents = new Map<string, Set<string>>()

  /** The uids of those that block the deletion of a uid in the foreground. */
  readonly #blocking = new Map<string, Set<string>>()

  /** States of owners whose blocking dependents have been looked at: when one of these goes, the others need not be again. */
  readonly #awaited = new WeakSet<Stored>()

  readonly #orphaned: FollowUp<string>
  readonly #deleting: FollowUp<string>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#orphaned = new FollowUp(parts, controller, (uid) => this.#collect(uid))
    this.#deleting = new FollowUp(parts, controller, (uid) => this.#finalize(uid))
    this.#hand = new Hand(parts, controller, (stored) => this.#lookAgain(stored))
    parts.store.subscribe(undefined, (change) => this.#hear(change))
  }

  #hear({ type, current, previous }: Change): void {
    for (const owner of previous?.owners ?? []) this.#dependents.get(owner)?.delete(current.uid)
    for (const owner of previous?.blockedOwners ?? []) removeFrom(this.#blocking, owner, current.uid)
    if (type === 'DELETED') this.#forget(current)
    else this.#remember(current)
  }

  #remember(stored: Stored): void {
    this.#living.set(stored.uid, stored)
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

  #forget(stored: Stored): void {
    this.#living.delete(stored.uid)
    for (const dependent of this.#dependents.get(stored.uid) ?? []) this.#orphaned.add(dependent)
    // An owner that waits for its dependents may now be free.
    for (const owner of stored.owners ?? []) {
      if (this.#dependents.get(owner)?.size === 0) this.#dependents.delete(owner)
      this.#deleting.add(owner)
    }
  }

  /** At an object that webhooks were asked about, and at its owners, who may wait for it. */
  #lookAgain({ uid, owners = [] }: Stored): void {
    this.#orphaned.add(uid)
    for (const each of [uid, ...owners]) this.#deleting.add(each)
  }

  /** Deletes a dependent whose owners are all gone or going; takes the references of those off that are, where others stay. */
  #collect(uid: string): void {
    const stored = this.#living.get(uid)
    if (stored === undefined) return
    const dependent = parseStored(stored)
    // On its way already: whoever holds it decides when, and asking again would change nothing.
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
    const stored = this.#living.get(owner.uid)
    if (stored === undefined || !isReachable(stored, dependent)) return this.#isServed(owner) ? 'absent' : 'unknown'
    if (!isFinalizing(stored) || !owner.blockOwnerDeletion) return 'solid'
    return stored.finalizers?.includes(foregroundFinalizer) ? 'waiting' : 'solid'
  }

  /** Nothing can be said of the owner's life where its kind is not served (yet). */
  #isServed({ apiVersion, kind }: OwnerReference): boolean {
    const group = parseGroupVersion(apiVersion)?.group
    return group !== undefined && this.#parts.registry.findByKind(group, kind) !== undefined
  }

  /** Works on the two finalizers of its own of an object that is being deleted. */
  #finalize(uid: string): void {
    const stored = this.#living.get(uid)
    if (stored === undefined || !isFinalizing(stored)) return
    const { finalizers = [] } = stored
    if (finalizers.includes(orphanFinalizer)) this.#setDependentsFree(stored)
    else if (finalizers.includes(foregroundFinalizer)) this.#awaitDependents(stored)
  }

  #setDependentsFree(owner: Stored): void {
    for (const dependent of this.#dependentsOf(owner)) {
      this.#update(dependent, (object) => {
        const others = object.metadata.ownerReferences?.filter(({ uid }) => uid !== owner.uid) ?? []
        return setOwners(object, others)
      })
    }
    // Webhooks may be asked about them first. Without its finalizer the owner would go, and they with it.
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
    return uids.map((uid) => this.#living.get(uid)).filter((stored) => stored !== undefined)
  }

  #dropFinalizer(stored: Stored, finalizer: string): void {
    this.#update(stored, (object) => {
      const kept = object.metadata.finalizers?.filter((name) => name !== finalizer) ?? []
      const { finalizers: _, ...metadata } = object.metadata
      return { ...object, metadata: kept.length === 0 ? metadata : { ...metadata, finalizers: kept } }
    })
  }

  #update(stored: Stored, change: (object: KubeObject) => KubeObject): void {
    const current = this.#living.get(stored.uid)
    if (current === undefined) return
    const resource = this.#parts.registry.keeperOf(current)
    if (resource !== undefined) this.#hand.update(resource, current, change)
  }

  #delete(stored: Stored, propagationPolicy: PropagationPolicy): void {
    const resource = this.#parts.registry.keeperOf(stored)
    if (resource === undefined) return
    const preconditions = { uid: stored.uid, resourceVersion: String(stored.version) }
    this.#hand.delete(resource, stored, { ...plainDeletion, propagationPolicy, ...preconditions })
  }
}

export const plainDeletion: DeleteOptions = {
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

/** Whether something holds an object that is being deleted. */
function isFinalizing(stored: Stored): boolean {
  return stored.isDeleting && stored.finalizers !== undefined
}

/** Owners are in the same namespace or in none. */
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
