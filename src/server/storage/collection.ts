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

  /**
   * The lists of earlier versions that were asked for last, since the pages of one list ask for the same version again and again. The
   * history holds their states too, so a list is dropped when the history forgets its version.
   */
  #snapshots: ReadonlyArray<{
    readonly namespace: string
    readonly version: number
    readonly list: readonly Stored[]
  }> = []

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
    const concerned = later.filter((change) => namespace === '' || change.current.namespace === namespace)
    if (concerned.length === 0) return this.list(namespace)
    const known = this.#snapshots.find((one) => one.version === version && one.namespace === namespace)
    if (known !== undefined) return known.list
    const list = undo(this.list(namespace), concerned)
    this.#snapshots = [{ namespace, version, list }, ...this.#snapshots].slice(0, maxSnapshots)
    return list
  }

  /** Forgets everything before a version. */
  compact(version: number): void {
    this.history.compact(version)
    this.#dropSnapshots()
  }

  #dropSnapshots(): void {
    if (this.#snapshots.length === 0) return
    this.#snapshots = this.#snapshots.filter(({ version }) => version >= this.history.floor)
  }

  /** To be called by the store alone, which gives out the versions. */
  apply(change: Change): void {
    const { type, current } = change
    if (type === 'DELETED') this.#bucketOf(current).delete(current.name)
    else this.#bucketOf(current).set(current)
    this.#listed = undefined
    this.history.add(change)
    this.#dropSnapshots()
  }

  /** Of the last change alone: it has turned out that it cannot be kept. */
  undo(change: Change): void {
    const { current, previous } = change
    if (previous === undefined) this.#bucketOf(current).delete(current.name)
    else this.#bucketOf(current).set(previous)
    this.#listed = undefined
    this.#snapshots = []
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

/** So many clients can page through one collection at the same time at no cost but that of their first page. */
const maxSnapshots = 4

/** The list with these changes undone, oldest first: one pass over it, and a sort of what has changed. */
function undo(now: readonly Stored[], changes: readonly Change[]): Stored[] {
  const undone = new Map<string, Stored | undefined>()
  // The first change of each object has the state before all of them.
  for (const { current, previous } of changes) if (!undone.has(current.key)) undone.set(current.key, previous)
  const before = [...undone.values()].filter((stored) => stored !== undefined).sort(byListOrder)
  const then: Stored[] = []
  let next = 0
  for (const stored of now) {
    if (undone.has(stored.key)) continue
    for (; next < before.length && byListOrder(before[next]!, stored) < 0; next += 1) then.push(before[next]!)
    then.push(stored)
  }
  return [...then, ...before.slice(next)]
}

function byListOrder(one: Stored, other: Stored): number {
  return one.key < other.key ? -1 : one.key === other.key ? 0 : 1
}

/** Keys are compared as a whole: behind a namespace comes a slash, which is above the hyphen and the dot. */
function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return `${one}/` < `${other}/` ? -1 : 1
}
