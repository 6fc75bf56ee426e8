/** All objects of one resource, with their history. Reads as of now or of an earlier version. */
import { Bucket } from './bucket.ts'
import { History, type HistoryLimits } from './history.ts'
import type { Change, Stored } from './stored.ts'

export class Collection {
  readonly name: string
  readonly history: History

  /** By namespace; '' for what is in none. A namespace stays here when its last object has gone. */
  readonly #buckets = new Map<string, Bucket>()

  /** Everything in order, as long as nothing changes. */
  #listed: readonly Stored[] | undefined

  constructor(name: string, version: number, limits: HistoryLimits) {
    this.name = name
    this.history = new History(version, limits)
  }

  get size(): number {
    let size = 0
    for (const bucket of this.#buckets.values()) size += bucket.size
    return size
  }

  get(key: string): Stored | undefined {
    const slash = key.indexOf('/')
    if (slash < 0) return this.#buckets.get('')?.get(key)
    return this.#buckets.get(key.slice(0, slash))?.get(key.slice(slash + 1))
  }

  *values(): Iterable<Stored> {
    for (const bucket of this.#buckets.values()) yield* bucket.values()
  }

  /** In the order of keys, as the real server lists; only those in the namespace, or all for ''. */
  list(namespace: string): readonly Stored[] {
    if (namespace !== '') return this.#buckets.get(namespace)?.list() ?? []
    this.#listed ??= [...this.#buckets].sort(byKey).flatMap(([, bucket]) => bucket.list())
    return this.#listed
  }

  /** One object as of an earlier version; 'forgotten' where that is no longer known. */
  getAt(key: string, version: number): Stored | undefined | 'forgotten' {
    const later = this.history.since(version)
    if (later === undefined) return 'forgotten'
    const next = later.find((change) => change.current.key === key)
    return next === undefined ? this.get(key) : next.previous
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
    return [...then].sort(byKey).map(([, stored]) => stored)
  }

  /** To be called by the store alone, which gives out the versions. */
  apply(change: Change): void {
    const { type, current } = change
    if (type === 'DELETED') this.#bucketOf(current).delete(current.name)
    else this.#bucketOf(current).set(current)
    this.#listed = undefined
    this.history.add(change)
  }

  /** Of the last change alone: it has turned out that it cannot be kept. */
  undo(change: Change): void {
    const { current, previous } = change
    if (previous === undefined) this.#bucketOf(current).delete(current.name)
    else this.#bucketOf(current).set(previous)
    this.#listed = undefined
    this.history.undo(change)
  }

  /** One that was there before the history begins. */
  restore(stored: Stored): void {
    this.#bucketOf(stored).set(stored)
    this.#listed = undefined
  }

  #bucketOf({ namespace }: Stored): Bucket {
    const known = this.#buckets.get(namespace)
    if (known !== undefined) return known
    const fresh = new Bucket()
    this.#buckets.set(namespace, fresh)
    return fresh
  }
}

/** Keys are compared as a whole: behind a namespace comes a slash, which is above the hyphen and the dot. */
function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return `${one}/` < `${other}/` ? -1 : 1
}
