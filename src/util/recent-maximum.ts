/** The largest of the values of the last while. Told the time; keeps only what may still be the largest. */

interface Entry {
  readonly value: number
  readonly atMs: number
}

export class RecentMaximum {
  readonly #windowMs: number
  /** Oldest first, and each larger than all that came after it. */
  #entries: Entry[] = []

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  add(value: number, atMs: number): void {
    this.#entries = [...this.#entries.filter((entry) => entry.value > value), { value, atMs }]
    this.#forget(atMs)
  }

  /** 0 where there is none. */
  at(nowMs: number): number {
    this.#forget(nowMs)
    return this.#entries[0]?.value ?? 0
  }

  #forget(nowMs: number): void {
    this.#entries = this.#entries.filter(({ atMs }) => nowMs - atMs < this.#windowMs)
  }
}
