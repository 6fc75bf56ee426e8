/**
 * Where all objects are. Gives out the versions, keeps the collections, tells everybody of each change, in order.
 * Every write names the state it was made from; where that is no longer the present one, it does not happen.
 * With a ledger, nobody is told of a change before it is kept there, and what cannot be kept has never happened.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { Collection } from './collection.ts'
import type { HistoryLimits } from './history.ts'
import { type Change, keyOf, type Stored, toStored, withVersion } from './stored.ts'

export type Listener = (change: Change) => void

/** Where changes are kept for good. Without one, they last as long as the process. */
export interface Ledger {
  /** To be kept soon, in this order. Throws a StatusError where nothing can be kept at the moment. */
  append(change: Change): void
  /** Resolves when all that was appended is kept, rejects where it cannot be; undefined where nothing waits. */
  settled(): Promise<void> | undefined
}

export class Store {
  readonly #collections = new Map<string, Collection>()
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #everywhere = new Set<Listener>()
  readonly #limits: HistoryLimits
  #version = 1
  #ledger: Ledger | undefined

  #onListenerFailure: ((error: unknown) => void) | undefined

  /** Applied, appended, not yet kept: of these no listener knows. */
  #unkept: Change[] = []

  /** What could not be kept, by collection and key, until something can be kept again. */
  readonly #lost = new Map<string, Stored>()
  #losses = 0

  /** The version at the last compaction; a collection that is made later remembers nothing from before it either. */
  #floor = 0

  constructor(limits: HistoryLimits) {
    this.#limits = limits
  }

  /** The version of the last write anywhere. */
  get version(): number {
    return this.#version
  }

  /** What was before this version is forgotten. */
  get floor(): number {
    return this.#floor
  }

  collection(name: string): Collection {
    const known = this.#collections.get(name)
    if (known !== undefined) return known
    // Nothing has happened in it yet: unless the past was forgotten, it can be watched from any version.
    const fresh = new Collection(name, this.#floor, this.#limits)
    this.#collections.set(name, fresh)
    return fresh
  }

  collections(): Iterable<Collection> {
    return this.#collections.values()
  }

  /** Every object there is. */
  *states(): Iterable<Stored> {
    for (const collection of this.#collections.values()) yield* collection.values()
  }

  /** Undefined where the key is taken. */
  create(collection: string, object: KubeObject, rules: object): Stored | undefined {
    const { name = '', namespace = '' } = object.metadata
    if (this.collection(collection).get(keyOf(namespace, name)) !== undefined) return undefined
    return this.#commit('ADDED', toStored(collection, object, this.#version + 1, rules), undefined)
  }

  /** Undefined where `current` is not the present state any more. */
  replace(current: Stored, object: KubeObject, rules: object): Stored | undefined {
    if (!this.#isPresent(current)) return undefined
    return this.#commit('MODIFIED', toStored(current.collection, object, this.#version + 1, rules), current)
  }

  /** The last state under the version of the deletion; undefined where `current` is not the present state any more. */
  remove(current: Stored): Stored | undefined {
    if (!this.#isPresent(current)) return undefined
    return this.#commit('DELETED', withVersion(current, this.#version + 1), current)
  }

  /** Calls the listener with every change from now on, until the function that is returned is called. */
  subscribe(collection: string | undefined, listener: Listener): () => void {
    const listeners = collection === undefined ? this.#everywhere : this.#listenersOf(collection)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Forgets the history up to now. Watches that are open are not disturbed; those that come back later are. */
  compact(): void {
    this.#floor = this.#version
    for (const collection of this.#collections.values()) collection.compact(this.#version)
  }

  /** From now on, exceptions of listeners are reported there. Until then they are thrown. */
  reportFailuresTo(report: (error: unknown) => void): void {
    this.#onListenerFailure = report
  }

  /** From now on, changes are kept there. */
  keepIn(ledger: Ledger): void {
    this.#ledger = ledger
  }

  /** What has happened in an earlier life of the server: a state that was there at first. */
  restore(stored: Stored): void {
    this.collection(stored.collection).restore(stored)
  }

  /** The same: a change that followed, which watches can go on from. */
  repeat(change: Change): void {
    this.#version = change.version
    this.collection(change.current.collection).apply(change)
  }

  /** The same: the version of what was there at first. Nothing is known of what was before. */
  beginAt(version: number): void {
    this.#version = version
    this.#floor = version
  }

  /** Tells the listeners of all objects as if they had just come: for those who follow what is there. */
  announce(first: string): void {
    const rest = [...this.#collections.keys()].filter((name) => name !== first)
    for (const name of [first, ...rest]) {
      for (const current of this.collection(name).values()) {
        this.#tell({ type: 'ADDED', version: 0, current, previous: undefined })
      }
    }
  }

  /** Whether what has been seen so far may still turn out not to be kept: undefined where not. */
  settled(): Promise<void> | undefined {
    return this.#ledger?.settled()
  }

  /** How often changes were lost: whoever sees another number than before has seen what has never happened. */
  get losses(): number {
    return this.#losses
  }

  /** To be called by the ledger alone: so many changes are kept, the oldest first. */
  onKept(count: number): void {
    for (const change of this.#unkept.splice(0, count)) this.#tell(change)
  }

  /** To be called by the ledger alone: nothing of what waits can be kept. Nobody has seen it, so its versions are free again. */
  onLost(): void {
    this.#losses += 1
    for (const change of this.#unkept.toReversed()) {
      this.collection(change.current.collection).undo(change)
      this.#lost.set(`${change.current.collection}/${change.current.key}`, change.current)
    }
    this.#version = (this.#unkept[0]?.version ?? this.#version + 1) - 1
    this.#unkept = []
  }

  /** To be called by the ledger alone: it can keep again. Whoever follows looks again at what came to nothing. */
  onWritable(): void {
    for (const lost of this.#lost.values()) {
      const present = this.collection(lost.collection).get(lost.key)
      const current = present ?? lost
      this.#tell({ type: present === undefined ? 'DELETED' : 'MODIFIED', version: 0, current, previous: current })
    }
    this.#lost.clear()
  }

  #isPresent(stored: Stored): boolean {
    return this.collection(stored.collection).get(stored.key) === stored
  }

  #commit(type: Change['type'], current: Stored, previous: Stored | undefined): Stored {
    const change: Change = { type, version: current.version, current, previous }
    this.#ledger?.append(change)
    this.#version = current.version
    this.collection(current.collection).apply(change)
    if (this.#ledger === undefined) this.#tell(change)
    else this.#unkept.push(change)
    return current
  }

  #tell(change: Change): void {
    for (const listener of this.#listenersOf(change.current.collection)) this.#call(listener, change)
    for (const listener of this.#everywhere) this.#call(listener, change)
  }

  /** The change is committed: an exception of one listener must neither fail the write nor keep the change from other listeners. */
  #call(listener: Listener, change: Change): void {
    try {
      listener(change)
    } catch (error) {
      if (this.#onListenerFailure === undefined) throw error
      this.#onListenerFailure(error)
    }
  }

  #listenersOf(collection: string): Set<Listener> {
    const known = this.#listeners.get(collection)
    if (known !== undefined) return known
    const fresh = new Set<Listener>()
    this.#listeners.set(collection, fresh)
    return fresh
  }
}
