/**
 * Where all objects are. Gives out the versions, keeps the collections, tells everybody of each change, in order.
 * Every write names the state it was made from; where that is no longer the present one, it does not happen.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { Collection } from './collection.ts'
import type { HistoryLimits } from './history.ts'
import { type Change, keyOf, type Stored, toStored, withVersion } from './stored.ts'

export type Listener = (change: Change) => void

export class Store {
  readonly #collections = new Map<string, Collection>()
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #everywhere = new Set<Listener>()
  readonly #limits: HistoryLimits
  #version = 1

  /** The version at the last compaction; a collection that is made later remembers nothing from before it either. */
  #floor = 0

  constructor(limits: HistoryLimits) {
    this.#limits = limits
  }

  /** The version of the last write anywhere. */
  get version(): number {
    return this.#version
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
    for (const collection of this.#collections.values()) collection.history.compact(this.#version)
  }

  #isPresent(stored: Stored): boolean {
    return this.collection(stored.collection).get(stored.key) === stored
  }

  #commit(type: Change['type'], current: Stored, previous: Stored | undefined): Stored {
    this.#version = current.version
    const change: Change = { type, version: current.version, current, previous }
    this.collection(current.collection).apply(change)
    for (const listener of this.#listenersOf(current.collection)) listener(change)
    for (const listener of this.#everywhere) listener(change)
    return current
  }

  #listenersOf(collection: string): Set<Listener> {
    const known = this.#listeners.get(collection)
    if (known !== undefined) return known
    const fresh = new Set<Listener>()
    this.#listeners.set(collection, fresh)
    return fresh
  }
}
