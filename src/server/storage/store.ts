/**
 * Holds all objects of the server: assigns resource versions, owns the collections, and notifies listeners of each change in order.
 * Every write names the state it is based on and fails if that is no longer the current state. With a write-ahead log, listeners
 * hear of a change only after it is durable; a change that cannot be written is rolled back.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { Collection } from './collection.ts'
import type { HistoryLimits } from './history.ts'
import { keyOf, type StoreChange, type Stored, toStored, withVersion } from './stored.ts'

export type ChangeListener = (change: StoreChange) => void

/** Durable storage of changes, implemented by journal.ts. Without one, changes last as long as the process. */
export interface WriteAheadLog {
  /** Queues a change for writing, in order. Throws a StatusError while the log cannot be written. */
  append(change: StoreChange): void
  /** Resolves when all appended changes are durable, rejects if they cannot be written; undefined if nothing is pending. */
  settled(): Promise<void> | undefined
}

export class ServerStore {
  readonly #collections = new Map<string, Collection>()
  readonly #listeners = new Map<string, Set<ChangeListener>>()
  readonly #globalListeners = new Set<ChangeListener>()
  readonly #limits: HistoryLimits
  #version = 1
  #log: WriteAheadLog | undefined

  #onListenerFailure: ((error: unknown) => void) | undefined

  /** Changes that are applied and appended but not yet durable. Listeners have not seen them. */
  #pending: StoreChange[] = []

  /** Last states of rolled-back changes, by collection and key. Cleared when the log is writable again. */
  readonly #rolledBack = new Map<string, Stored>()
  #rollbacks = 0

  /** The version of the last compaction. A collection created later starts its history here. */
  #floor = 0

  constructor(limits: HistoryLimits) {
    this.#limits = limits
  }

  /** The resource version of the last write to any collection. */
  get version(): number {
    return this.#version
  }

  /** The oldest version whose history is still known. */
  get floor(): number {
    return this.#floor
  }

  collection(name: string): Collection {
    const known = this.#collections.get(name)
    if (known !== undefined) return known
    // The collection is empty so far: a watch can start from any version after the last compaction.
    const fresh = new Collection(name, this.#floor, this.#limits)
    this.#collections.set(name, fresh)
    return fresh
  }

  collections(): Iterable<Collection> {
    return this.#collections.values()
  }

  /** All objects of all collections. */
  *states(): Iterable<Stored> {
    for (const collection of this.#collections.values()) yield* collection.values()
  }

  /** Undefined if an object with this key exists. */
  create(collection: string, object: KubeObject, rules: object): Stored | undefined {
    const { name = '', namespace = '' } = object.metadata
    if (this.collection(collection).get(keyOf(namespace, name)) !== undefined) return undefined
    return this.#commit('ADDED', toStored(collection, object, this.#version + 1, rules), undefined)
  }

  /** Undefined if `current` is no longer the current state. */
  replace(current: Stored, object: KubeObject, rules: object): Stored | undefined {
    if (!this.#isPresent(current)) return undefined
    return this.#commit('MODIFIED', toStored(current.collection, object, this.#version + 1, rules), current)
  }

  /** Returns the last state with the version of the deletion; undefined if `current` is no longer the current state. */
  remove(current: Stored): Stored | undefined {
    if (!this.#isPresent(current)) return undefined
    return this.#commit('DELETED', withVersion(current, this.#version + 1), current)
  }

  /** Calls the listener with every change from now on. The returned function unsubscribes it. */
  subscribe(collection: string | undefined, listener: ChangeListener): () => void {
    const listeners = collection === undefined ? this.#globalListeners : this.#listenersOf(collection)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Drops the history up to now. Open watches continue; a watch that resumes from an older version gets 410. */
  compact(): void {
    this.#floor = this.#version
    for (const collection of this.#collections.values()) collection.compact(this.#version)
  }

  /** Reports exceptions of listeners to `report` from now on. Before that they are thrown. */
  reportFailuresTo(report: (error: unknown) => void): void {
    this.#onListenerFailure = report
  }

  /** Writes all changes to this log from now on. */
  useLog(log: WriteAheadLog): void {
    this.#log = log
  }

  /** Restores one object of a snapshot, at start. */
  restore(stored: Stored): void {
    this.collection(stored.collection).restore(stored)
  }

  /** Repeats a logged change at start. Watches can resume from its version. */
  replay(change: StoreChange): void {
    this.#version = change.version
    this.collection(change.current.collection).apply(change)
  }

  /** Sets the version of the restored snapshot. Nothing is known of earlier versions. */
  startAt(version: number): void {
    this.#version = version
    this.#floor = version
  }

  /**
   * Calls the listeners with ADDED for every object, the collection `first` before all others, so that controllers see restored
   * objects.
   */
  replayAsAdded(first: string): void {
    const rest = [...this.#collections.keys()].filter((name) => name !== first)
    for (const name of [first, ...rest]) {
      for (const current of this.collection(name).values()) {
        this.#notify({ type: 'ADDED', version: 0, current, previous: undefined })
      }
    }
  }

  /** Resolves when everything that readers have seen so far is durable; undefined if nothing is pending. */
  settled(): Promise<void> | undefined {
    return this.#log?.settled()
  }

  /** Rollback counter. If it changes during a request, the request may have read state that was rolled back. */
  get rollbacks(): number {
    return this.#rollbacks
  }

  /** Called by the log only: the oldest `count` pending changes are durable. */
  onDurable(count: number): void {
    for (const change of this.#pending.splice(0, count)) this.#notify(change)
  }

  /** Called by the log only: the pending changes cannot be written. No listener has seen them, so their versions can be assigned again. */
  rollBack(): void {
    this.#rollbacks += 1
    for (const change of this.#pending.toReversed()) {
      this.collection(change.current.collection).undo(change)
      this.#rolledBack.set(`${change.current.collection}/${change.current.key}`, change.current)
    }
    this.#version = (this.#pending[0]?.version ?? this.#version + 1) - 1
    this.#pending = []
  }

  /** Called by the log only: it is writable again. Listeners are notified of the objects whose changes were rolled back. */
  onWritable(): void {
    for (const lost of this.#rolledBack.values()) {
      const present = this.collection(lost.collection).get(lost.key)
      const current = present ?? lost
      this.#notify({ type: present === undefined ? 'DELETED' : 'MODIFIED', version: 0, current, previous: current })
    }
    this.#rolledBack.clear()
  }

  #isPresent(stored: Stored): boolean {
    return this.collection(stored.collection).get(stored.key) === stored
  }

  #commit(type: StoreChange['type'], current: Stored, previous: Stored | undefined): Stored {
    const change: StoreChange = { type, version: current.version, current, previous }
    this.#log?.append(change)
    this.#version = current.version
    this.collection(current.collection).apply(change)
    if (this.#log === undefined) this.#notify(change)
    else this.#pending.push(change)
    return current
  }

  #notify(change: StoreChange): void {
    for (const listener of this.#listenersOf(change.current.collection)) this.#call(listener, change)
    for (const listener of this.#globalListeners) this.#call(listener, change)
  }

  /** The change is committed: an exception of one listener must neither fail the write nor keep the change from other listeners. */
  #call(listener: ChangeListener, change: StoreChange): void {
    try {
      listener(change)
    } catch (error) {
      if (this.#onListenerFailure === undefined) throw error
      this.#onListenerFailure(error)
    }
  }

  #listenersOf(collection: string): Set<ChangeListener> {
    const known = this.#listeners.get(collection)
    if (known !== undefined) return known
    const fresh = new Set<ChangeListener>()
    this.#listeners.set(collection, fresh)
    return fresh
  }
}
