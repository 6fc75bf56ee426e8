/** The maximum of the values within a time window. The caller gives the time. Keeps only values that may still become the maximum. */

interface MaximumEntry {
  readonly value: number
  readonly atMs: number
}

export class SlidingMaximum {
  readonly #windowMs: number
  /** Oldest first; each value is larger than all later ones. */
  #entries: MaximumEntry[] = []

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  add(value: number, atMs: number): void {
    this.#entries = [...this.#entries.filter((entry) => entry.value > value), { value, atMs }]
    this.#dropExpired(atMs)
  }

  /** The maximum at a time; 0 without values. */
  at(nowMs: number): number {
    this.#dropExpired(nowMs)
    return this.#entries[0]?.value ?? 0
  }

  #dropExpired(nowMs: number): void {
    this.#entries = this.#entries.filter(({ atMs }) => nowMs - atMs < this.#windowMs)
  }
}
