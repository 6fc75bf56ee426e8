/** All objects of one resource, with their history. Can be read as of now or as of an earlier version. */
import { Bucket } from './bucket.ts'
import { History, type HistoryLimits } from './history.ts'
import type { StoreChange, Stored } from './stored.ts'

export class Collection {
  readonly name: string
  readonly history: History

  /** By namespace; '' for cluster-scoped objects. A namespace stays here after its last object is deleted. */
  readonly #buckets = new Map<string, Bucket>()

  /** All objects in list order; dropped with every change. */
  #listed: readonly Stored[] | undefined

  /**
   * The lists of earlier versions that were read last: all pages of one list read the same version. The history holds the same states,
   * so a list is dropped together with its version.
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

  /** Sorted by key like a list of the Kubernetes API server. Lists one namespace, or all for ''. */
  list(namespace: string): readonly Stored[] {
    if (namespace !== '') return this.#buckets.get(namespace)?.list() ?? []
    this.#listed ??= [...this.#buckets].sort(byKey).flatMap(([, bucket]) => bucket.list())
    return this.#listed
  }

  /** One object as of an earlier version; 'forgotten' if the history no longer reaches back to it. */
  getAt(key: string, version: number): Stored | undefined | 'forgotten' {
    const later = this.history.since(version)
    if (later === undefined) return 'forgotten'
    const next = later.find((change) => change.current.key === key)
    return next === undefined ? this.get(key) : next.previous
  }

  /** The list as of an earlier version; undefined if the history no longer reaches back to it. */
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

  /** Drops the history before a version. */
  compact(version: number): void {
    this.history.compact(version)
    this.#dropSnapshots()
  }

  #dropSnapshots(): void {
    if (this.#snapshots.length === 0) return
    this.#snapshots = this.#snapshots.filter(({ version }) => version >= this.history.floor)
  }

  /** Called by the store only, which assigns the versions. */
  apply(change: StoreChange): void {
    const { type, current } = change
    if (type === 'DELETED') this.#bucketOf(current).delete(current.name)
    else this.#bucketOf(current).set(current)
    this.#listed = undefined
    this.history.add(change)
    this.#dropSnapshots()
  }

  /** Reverts the last change, which could not be written to disk. */
  undo(change: StoreChange): void {
    const { current, previous } = change
    if (previous === undefined) this.#bucketOf(current).delete(current.name)
    else this.#bucketOf(current).set(previous)
    this.#listed = undefined
    this.#snapshots = []
    this.history.undo(change)
  }

  /** Adds an object from a snapshot, without an entry in the history. */
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

/** This many clients can page through one collection at the same time without recomputing the list for each page. */
const maxSnapshots = 4

/** Reverts these changes (oldest first) in one pass over the list, after sorting the changed objects. */
function undo(now: readonly Stored[], changes: readonly StoreChange[]): Stored[] {
  const undone = new Map<string, Stored | undefined>()
  // The first change of an object holds the state before all changes.
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

/** Keys are compared as a whole: a slash follows the namespace, and it sorts after the hyphen and the dot. */
function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return `${one}/` < `${other}/` ? -1 : 1
}
