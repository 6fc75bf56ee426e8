/**
 * The recent changes of one collection: watches resume from them, and lists of earlier versions are computed from them. Bounded: a
 * request for an older version fails with 410.
 */
import type { StoreChange } from './stored.ts'

export interface HistoryLimits {
  /** Maximum number of changes. */
  readonly changes: number
  /** Maximum number of characters in superseded objects. */
  readonly characters: number
}

export function toLimits({
  changes = 10_000,
  characters = 64 * 1024 * 1024,
}: Partial<HistoryLimits> = {}): HistoryLimits {
  return { changes, characters }
}

export class History {
  /** Ordered by version, without gaps after `#floor`. */
  #changes: StoreChange[] = []

  /** Changes at or below this version may have been dropped; all later ones are present. */
  #floor = 0

  /** Total length of the texts that only this history still references. */
  #characters = 0

  readonly #limits: HistoryLimits

  constructor(floor: number, limits: HistoryLimits) {
    this.#floor = floor
    this.#limits = limits
  }

  /** The oldest version from which a watch can resume. */
  get floor(): number {
    return this.#floor
  }

  add(change: StoreChange): void {
    this.#changes.push(change)
    this.#characters += superseded(change)
    if (this.#isOver()) this.#trim()
  }

  /** Removes the last change. Does nothing if the change was so large that it has been dropped already. */
  undo(change: StoreChange): void {
    if (this.#changes.at(-1) !== change) return
    this.#changes.pop()
    this.#characters -= superseded(change)
  }

  /** The changes after a version, oldest first; undefined if some of them have been dropped. */
  since(version: number): readonly StoreChange[] | undefined {
    if (version < this.#floor) return undefined
    let low = 0
    let high = this.#changes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#changes[middle]!.version <= version) low = middle + 1
      else high = middle
    }
    return this.#changes.slice(low)
  }

  /** Drops everything up to a version, like the compaction of etcd. */
  compact(version: number): void {
    const kept = this.since(Math.max(version, this.#floor)) ?? []
    this.#changes = [...kept]
    this.#characters = kept.reduce((sum, change) => sum + superseded(change), 0)
    this.#floor = Math.max(version, this.#floor)
  }

  #isOver(): boolean {
    return this.#changes.length > this.#limits.changes || this.#characters > this.#limits.characters
  }

  /** Drops a quarter at a time, so that adding stays cheap. */
  #trim(): void {
    let dropped = 0
    while (dropped < this.#changes.length && (dropped === 0 || this.#isOverWithout(dropped))) {
      this.#characters -= superseded(this.#changes[dropped]!)
      this.#floor = this.#changes[dropped]!.version
      dropped += 1
    }
    this.#changes = this.#changes.slice(dropped)
  }

  #isOverWithout(dropped: number): boolean {
    return (
      this.#changes.length - dropped > this.#limits.changes * 0.75 || this.#characters > this.#limits.characters * 0.75
    )
  }
}

function superseded(change: StoreChange): number {
  return (change.previous?.json.length ?? 0) + (change.type === 'DELETED' ? change.current.json.length : 0)
}
