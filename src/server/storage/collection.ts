/** All objects of one resource, by key, with their history. Reads as of now or of an earlier version. */
import { History, type HistoryLimits } from './history.ts'
import type { Change, Stored } from './stored.ts'

export class Collection {
  readonly name: string
  readonly history: History
  readonly #objects = new Map<string, Stored>()

  /** The keys in order; undefined while a key has come or gone since they were last sorted. */
  #sorted: string[] | undefined = []

  /** The objects in the order of their keys, as long as nothing changes: a list in pages asks for them again and again. */
  #listed: readonly Stored[] | undefined

  constructor(name: string, version: number, limits: HistoryLimits) {
    this.name = name
    this.history = new History(version, limits)
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: string): Stored | undefined {
    return this.#objects.get(key)
  }

  values(): Iterable<Stored> {
    return this.#objects.values()
  }

  /** In the order of keys, as the real server lists; only those in the namespace, or all for ''. */
  list(namespace: string): readonly Stored[] {
    const keys = this.#keys()
    this.#listed ??= keys.map((key) => this.#objects.get(key)!)
    if (namespace === '') return this.#listed
    // '0' is the character after '/': all keys of the namespace lie between the two.
    const from = firstNotBelow(keys, `${namespace}/`)
    const to = firstNotBelow(keys, `${namespace}0`)
    return this.#listed.slice(from, to)
  }

  /** One object as of an earlier version; 'forgotten' where that is no longer known. */
  getAt(key: string, version: number): Stored | undefined | 'forgotten' {
    const later = this.history.since(version)
    if (later === undefined) return 'forgotten'
    const next = later.find((change) => change.current.key === key)
    return next === undefined ? this.#objects.get(key) : next.previous
  }

  /** The list as of an earlier version; undefined where that is no longer known. */
  listAt(namespace: string, version: number): readonly Stored[] | undefined {
    const later = this.history.since(version)
    if (later === undefined) return undefined
    const now = this.list(namespace)
    const concerned = later.filter((change) => namespace === '' || change.current.namespace === namespace)
    if (concerned.length === 0) return now
    const then = new Map(now.map((stored) => [stored.key, stored]))
    for (const change of concerned.reverse()) {
      if (change.previous === undefined) then.delete(change.current.key)
      else then.set(change.previous.key, change.previous)
    }
    return [...then.values()].sort((one, other) => (one.key < other.key ? -1 : 1))
  }

  /** To be called by the store alone, which gives out the versions. */
  apply(change: Change): void {
    const { key } = change.current
    if (change.type === 'DELETED') this.#objects.delete(key)
    else this.#objects.set(key, change.current)
    if (change.type !== 'MODIFIED') this.#sorted = undefined
    this.#listed = undefined
    this.history.add(change)
  }

  /** Of the last change alone: it has turned out that it cannot be kept. */
  undo(change: Change): void {
    const { current, previous, type } = change
    if (previous === undefined) this.#objects.delete(current.key)
    else this.#objects.set(current.key, previous)
    if (type !== 'MODIFIED') this.#sorted = undefined
    this.#listed = undefined
    this.history.undo(change)
  }

  /** One that was there before the history begins. */
  restore(stored: Stored): void {
    this.#objects.set(stored.key, stored)
    this.#sorted = undefined
    this.#listed = undefined
  }

  #keys(): readonly string[] {
    this.#sorted ??= [...this.#objects.keys()].sort(byCodeUnit)
    return this.#sorted
  }
}

function byCodeUnit(one: string, other: string): number {
  return one < other ? -1 : 1
}

function firstNotBelow(keys: readonly string[], bound: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! < bound) low = middle + 1
    else high = middle
  }
  return low
}
