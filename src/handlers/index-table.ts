/**
 * The in-memory table of one index: values of all objects, by key. indexing/ fills it, handlers read it. Looking up, replacing and
 * discarding take time in proportion to the keys of one object, not to the number of objects.
 */
import { toStructuralKey } from '../util/json/structural-key.ts'

/** The values under one key of an index: one value for each object that has the key. Read-only. */
export type Store<V> = readonly V[]

/**
 * An in-memory index of the objects of a resource, by keys of your choice. Returned by `index()`, and in the argument `indices`. It is
 * complete before the first handler is called, and is updated with every change. Keys are compared by value, including arrays and objects.
 *
 * @example
 * ```ts
 * const podsOf = kopf.index('pods', ({ labels, name }) => [[labels['app'], name]])
 * podsOf.get('web') // the names of all pods with this label
 * ```
 */
export interface Index<K, V> extends Iterable<readonly [K, Store<V>]> {
  /** The number of keys. */
  readonly size: number
  /** Returns the values under a key. Empty if no object has the key. */
  get(key: K): Store<V>
  /** Returns whether any object has the key. */
  has(key: K): boolean
  /** Iterates over the keys. */
  keys(): IterableIterator<K>
  /** Iterates over the values, one list per key. */
  values(): IterableIterator<Store<V>>
  /** Iterates over the keys with their values. */
  entries(): IterableIterator<readonly [K, Store<V>]>
  /** Calls the callback for each key, with the values and the key. */
  forEach(callback: (values: Store<V>, key: K) => void): void
}

/**
 * The values of one key. An owner stands for one object. Most keys have a single owner, so its value is stored directly; a map is created
 * for the second owner.
 */
interface IndexEntry {
  readonly key: unknown
  readonly structural: unknown
  /** The only owner; undefined if `byOwner` is used. */
  owner: object | undefined
  /** The value of `owner`. */
  value: unknown
  byOwner: Map<object, unknown> | undefined
  /** The list that `get` returns: created on demand, and discarded when a value changes. */
  values: readonly unknown[] | undefined
}

const nothing: readonly never[] = Object.freeze([])

export class IndexTable implements Index<unknown, unknown> {
  /** The entries by structural key. An entry without values is removed. */
  readonly #entries = new Map<unknown, IndexEntry>()
  /** The entries in which an owner has a value: a single one, or a list. */
  readonly #entriesOf = new Map<object, IndexEntry | readonly IndexEntry[]>()

  get size(): number {
    return this.#entries.size
  }

  get(key: unknown): readonly unknown[] {
    const entry = this.#entries.get(toStructuralKey(key))
    return entry === undefined ? nothing : valuesOf(entry)
  }

  has(key: unknown): boolean {
    return this.#entries.has(toStructuralKey(key))
  }

  *keys(): IterableIterator<unknown> {
    for (const { key } of this.#entries.values()) yield key
  }

  *values(): IterableIterator<readonly unknown[]> {
    for (const entry of this.#entries.values()) yield valuesOf(entry)
  }

  *entries(): IterableIterator<readonly [unknown, readonly unknown[]]> {
    for (const entry of this.#entries.values()) yield [entry.key, valuesOf(entry)]
  }

  [Symbol.iterator](): IterableIterator<readonly [unknown, readonly unknown[]]> {
    return this.entries()
  }

  forEach(callback: (values: readonly unknown[], key: unknown) => void): void {
    for (const [key, values] of this.entries()) callback(values, key)
  }

  /**
   * Replaces all values of the owner. Of several pairs with the same key, the last one counts. Throws for an invalid key before any change.
   */
  put(owner: object, pairs: Iterable<readonly [unknown, unknown]>): void {
    const found = new Map<unknown, readonly [unknown, unknown]>()
    for (const pair of pairs) found.set(toStructuralKey(pair[0]), pair)
    for (const entry of this.#listEntries(owner)) if (!found.has(entry.structural)) this.#remove(owner, entry)
    const entries: IndexEntry[] = []
    for (const [structural, pair] of found) entries.push(this.#add(owner, structural, pair))
    if (entries.length === 0) this.#entriesOf.delete(owner)
    else this.#entriesOf.set(owner, entries.length === 1 ? entries[0]! : entries)
  }

  discard(owner: object): void {
    for (const entry of this.#listEntries(owner)) this.#remove(owner, entry)
    this.#entriesOf.delete(owner)
  }

  #listEntries(owner: object): readonly IndexEntry[] {
    const listed = this.#entriesOf.get(owner)
    if (listed === undefined) return nothing
    return Array.isArray(listed) ? listed : [listed as IndexEntry]
  }

  #add(owner: object, structural: unknown, [key, value]: readonly [unknown, unknown]): IndexEntry {
    let entry = this.#entries.get(structural)
    if (entry === undefined) {
      entry = { key, structural, owner, value, byOwner: undefined, values: undefined }
      this.#entries.set(structural, entry)
    } else {
      addValue(entry, owner, value)
    }
    return entry
  }

  #remove(owner: object, entry: IndexEntry): void {
    entry.values = undefined
    entry.byOwner?.delete(owner)
    if (entry.byOwner === undefined || entry.byOwner.size === 0) this.#entries.delete(entry.structural)
  }
}

function addValue(entry: IndexEntry, owner: object, value: unknown): void {
  if (entry.byOwner === undefined && entry.owner !== owner) {
    entry.byOwner = new Map([[entry.owner!, entry.value]])
    entry.owner = undefined
    entry.value = undefined
  }
  const current = entry.byOwner === undefined ? entry.value : entry.byOwner.get(owner)
  // Most changes of an object do not change its value in the index: the list that was returned before stays valid.
  if (current === value && value !== undefined) return
  entry.values = undefined
  if (entry.byOwner === undefined) entry.value = value
  else entry.byOwner.set(owner, value)
}

/** Returns the same frozen list until a value changes, so that repeated lookups cost nothing. */
function valuesOf(entry: IndexEntry): readonly unknown[] {
  entry.values ??= Object.freeze(entry.byOwner === undefined ? [entry.value] : [...entry.byOwner.values()])
  return entry.values
}
