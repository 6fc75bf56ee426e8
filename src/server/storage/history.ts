/**
 * The last changes of one collection, so that watches can go on from a version they have seen, and lists can be
 * read as of an earlier version. Bounded: what is older is forgotten, and whoever asks for it is told so (410).
 */
import type { Change } from './stored.ts'

export interface HistoryLimits {
  /** How many changes are kept at most. */
  readonly changes: number
  /** How many characters of superseded objects are kept at most. */
  readonly characters: number
}

export function toLimits({
  changes = 10_000,
  characters = 64 * 1024 * 1024,
}: Partial<HistoryLimits> = {}): HistoryLimits {
  return { changes, characters }
}

export class History {
  /** In the order of versions, without gaps after `#floor`. */
  #changes: Change[] = []

  /** Everything at or below this version may have been forgotten; everything above it is here. */
  #floor = 0

  /** The sum of the texts that only this history still holds. */
  #characters = 0

  readonly #limits: HistoryLimits

  constructor(floor: number, limits: HistoryLimits) {
    this.#floor = floor
    this.#limits = limits
  }

  /** The oldest version from which a watch can go on. */
  get floor(): number {
    return this.#floor
  }

  add(change: Change): void {
    this.#changes.push(change)
    this.#characters += superseded(change)
    if (this.#isOver()) this.#trim()
  }

  /** Takes back the last change. One that was so large that it is forgotten already has left nothing to take back. */
  undo(change: Change): void {
    if (this.#changes.at(-1) !== change) return
    this.#changes.pop()
    this.#characters -= superseded(change)
  }

  /** The changes after a version, oldest first; undefined where some of them are forgotten. */
  since(version: number): readonly Change[] | undefined {
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

  /** Forgets everything up to a version, as compaction of the real server's store does. */
  compact(version: number): void {
    const kept = this.since(Math.max(version, this.#floor)) ?? []
    this.#changes = [...kept]
    this.#characters = kept.reduce((sum, change) => sum + superseded(change), 0)
    this.#floor = Math.max(version, this.#floor)
  }

  #isOver(): boolean {
    return this.#changes.length > this.#limits.changes || this.#characters > this.#limits.characters
  }

  /** Forgets a quarter at a time, so that adding stays cheap. */
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

function superseded(change: Change): number {
  return (change.previous?.json.length ?? 0) + (change.type === 'DELETED' ? change.current.json.length : 0)
}
