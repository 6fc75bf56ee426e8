/** Limits the number of concurrent operations. Further callers wait, in the order of arrival. */

export class Semaphore {
  readonly #limit: number
  readonly #waiting: Array<() => void> = []
  #acquired = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Resolves with a function that releases the semaphore; calling it again has no effect. */
  async acquire(): Promise<() => void> {
    if (this.#acquired < this.#limit) this.#acquired += 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#release()
    }
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#acquired -= 1
    else next()
  }
}
