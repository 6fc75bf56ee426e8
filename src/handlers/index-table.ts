/**
 * What an indexing function has found in all objects, by key. Filled by features/indexing, read by everybody. Looking up,
 * replacing and discarding take as long as an object has keys, however many objects there are.
 */
import { toStructuralKey } from '../util/json/structural-key.ts'

/** The values of one key: one of each object that has it. */
export type Store<V> = readonly V[]

/**
 * A read-only overview of objects. Keys are compared by value, arrays and objects too.
 *
 * @example
 * ```ts
 * const podsOf = kopf.index('pods', ({ labels, name }) => [[labels['app'], name]])
 * podsOf.get('web') // the names of all pods with this label
 * ```
 */
export interface Index<K, V> extends Iterable<readonly [K, Store<V>]> {
  /** How many keys there are. */
  readonly size: number
  /** Empty where nothing has the key. */
  get(key: K): Store<V>
  /** Whether there is anything under the key. */
  has(key: K): boolean
  /** Every key, once. */
  keys(): IterableIterator<K>
  /** The values under each key. */
  values(): IterableIterator<Store<V>>
  /** Each key with its values. */
  entries(): IterableIterator<readonly [K, Store<V>]>
  /** Calls with the values under each key, and with the key. */
  forEach(callback: (values: Store<V>, key: K) => void): void
}

/** The values of one key. Most keys of most indices have a single owner, and there are many: a map is made for the second. */
interface IndexEntry {
  readonly key: unknown
  readonly structural: unknown
  /** The only one, with its value; undefined where there is a map. */
  owner: object | undefined
  value: unknown
  byOwner: Map<object, unknown> | undefined
  /** The values as they are handed out; made when asked for. */
  values: readonly unknown[] | undefined
}

const nothing: readonly never[] = Object.freeze([])

/** An owner is whatever stands for one object. */
export class IndexTable implements Index<unknown, unknown> {
  /** By structural key; never with an empty shelf. */
  readonly #shelves = new Map<unknown, IndexEntry>()
  /** Where an owner has a value: its only shelf, or all of them. */
  readonly #placesOf = new Map<object, IndexEntry | readonly IndexEntry[]>()

  get size(): number {
    return this.#shelves.size
  }

  get(key: unknown): readonly unknown[] {
    const shelf = this.#shelves.get(toStructuralKey(key))
    return shelf === undefined ? nothing : valuesOf(shelf)
  }

  has(key: unknown): boolean {
    return this.#shelves.has(toStructuralKey(key))
  }

  *keys(): IterableIterator<unknown> {
    for (const { key } of this.#shelves.values()) yield key
  }

  *values(): IterableIterator<readonly unknown[]> {
    for (const shelf of this.#shelves.values()) yield valuesOf(shelf)
  }

  *entries(): IterableIterator<readonly [unknown, readonly unknown[]]> {
    for (const shelf of this.#shelves.values()) yield [shelf.key, valuesOf(shelf)]
  }

  [Symbol.iterator](): IterableIterator<readonly [unknown, readonly unknown[]]> {
    return this.entries()
  }

  forEach(callback: (values: readonly unknown[], key: unknown) => void): void {
    for (const [key, values] of this.entries()) callback(values, key)
  }

  /** Takes the place of all that the owner had; of two pairs with one key, the last counts. Nothing is done if a key is refused. */
  put(owner: object, pairs: Iterable<readonly [unknown, unknown]>): void {
    const found = new Map<unknown, readonly [unknown, unknown]>()
    for (const pair of pairs) found.set(toStructuralKey(pair[0]), pair)
    for (const shelf of this.#places(owner)) if (!found.has(shelf.structural)) this.#take(owner, shelf)
    const shelves: IndexEntry[] = []
    for (const [structural, pair] of found) shelves.push(this.#lay(owner, structural, pair))
    if (shelves.length === 0) this.#placesOf.delete(owner)
    else this.#placesOf.set(owner, shelves.length === 1 ? shelves[0]! : shelves)
  }

  discard(owner: object): void {
    for (const shelf of this.#places(owner)) this.#take(owner, shelf)
    this.#placesOf.delete(owner)
  }

  #places(owner: object): readonly IndexEntry[] {
    const places = this.#placesOf.get(owner)
    if (places === undefined) return nothing
    return Array.isArray(places) ? places : [places as IndexEntry]
  }

  #lay(owner: object, structural: unknown, [key, value]: readonly [unknown, unknown]): IndexEntry {
    let shelf = this.#shelves.get(structural)
    if (shelf === undefined) {
      shelf = { key, structural, owner, value, byOwner: undefined, values: undefined }
      this.#shelves.set(structural, shelf)
    } else {
      addValue(shelf, owner, value)
    }
    return shelf
  }

  #take(owner: object, shelf: IndexEntry): void {
    shelf.values = undefined
    shelf.byOwner?.delete(owner)
    if (shelf.byOwner === undefined || shelf.byOwner.size === 0) this.#shelves.delete(shelf.structural)
  }
}

function addValue(shelf: IndexEntry, owner: object, value: unknown): void {
  if (shelf.byOwner === undefined && shelf.owner !== owner) {
    shelf.byOwner = new Map([[shelf.owner!, shelf.value]])
    shelf.owner = undefined
    shelf.value = undefined
  }
  const current = shelf.byOwner === undefined ? shelf.value : shelf.byOwner.get(owner)
  // Most changes of objects change nothing here: what was handed out may be handed out again.
  if (current === value && value !== undefined) return
  shelf.values = undefined
  if (shelf.byOwner === undefined) shelf.value = value
  else shelf.byOwner.set(owner, value)
}

/** The same array until something changes: asking again and again costs nothing. */
function valuesOf(shelf: IndexEntry): readonly unknown[] {
  shelf.values ??= Object.freeze(shelf.byOwner === undefined ? [shelf.value] : [...shelf.byOwner.values()])
  return shelf.values
}
