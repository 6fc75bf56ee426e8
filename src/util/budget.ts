/**
 * A semaphore by size: things of different sizes take turns so that those at work are together not larger than a limit. One
 * that is larger than the limit gets its turn alone. First come, first served.
 */
export class Budget {
  readonly #limit: () => number
  readonly #waiting: Array<{ readonly size: number; readonly begin: () => void }> = []
  #used = 0

  constructor(limit: () => number) {
    this.#limit = limit
  }

  /** Whether `take` would have to wait. */
  isExceededBy(size: number): boolean {
    return this.#waiting.length > 0 || !this.#fits(size)
  }

  /** Resolves with the function that gives the size back; it may be called more than once. */
  async take(size: number): Promise<() => void> {
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

  /** The size is taken in the same turn as it is granted, so that no other request comes in between. */
  #beginNext(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.size); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#used += next.size
      next.begin()
    }
  }
}
