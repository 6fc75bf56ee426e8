/**
 * How long to wait before the next attempt: twice as long each time, up to a limit, for ever; spread by chance, so that
 * not all who lost the same server come back to it at once.
 */
const longestMs = 30_000

/** Even where the first pause is set to none, a server that fails at once is not to be asked without end. */
const shortestRepeatedMs = 100

export class Backoff {
  #attempts = 0
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /** How many attempts have failed in a row. */
  get attempts(): number {
    return this.#attempts
  }

  /** Between half of the full delay and all of it. */
  next(firstMs: number): number {
    const first = this.#attempts === 0 ? firstMs : Math.max(firstMs, shortestRepeatedMs)
    const full = Math.min(first * 2 ** this.#attempts, Math.max(firstMs, longestMs))
    this.#attempts += 1
    return full * (0.5 + this.#random() / 2)
  }

  reset(): void {
    this.#attempts = 0
  }
}
