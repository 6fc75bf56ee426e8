/** So many at once, the others in the order they came: for things that are begun by the thousand. */

export class Turns {
  readonly #limit: number
  readonly #waiting: Array<() => void> = []
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Resolves when it is one's turn, with what ends it; that may be called more than once. */
  async take(): Promise<() => void> {
    if (this.#taken < this.#limit) this.#taken += 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#pass()
    }
  }

  #pass(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#taken -= 1
    else next()
  }
}
