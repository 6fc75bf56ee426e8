/**
 * A semaphore by size: limits the total size of concurrent work. Work that is larger than the limit runs alone. In the order of
 * arrival.
 */
export class Budget {
  readonly #limit: () => number
  readonly #waiting: Array<{ readonly size: number; readonly begin: () => void }> = []
  #used = 0

  constructor(limit: () => number) {
    this.#limit = limit
  }

  /** Whether `acquire` would have to wait. */
  isExceededBy(size: number): boolean {
    return this.#waiting.length > 0 || !this.#fits(size)
  }

  /** Resolves with a function that releases the size; calling it again has no effect. */
  async acquire(size: number): Promise<() => void> {
    if (this.isExceededBy(size)) await new Promise<void>((begin) => this.#waiting.push({ size, begin }))
    else this.#used += size
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#used -= size
      this.#beginNext()
    }
  }

  #fits(size: number): boolean {
    return this.#used === 0 || this.#used + size <= this.#limit()
  }

  /** Counts the size before the waiting caller continues, so that no other caller can take it first. */
  #beginNext(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.size); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#used += next.size
      next.begin()
    }
  }
}
