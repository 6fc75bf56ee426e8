/** A clock that stands still until `advance` is called, as a user of the package could write one. */

interface Sleeper {
  readonly until: number
  wake(): void
}

export class ManualClock {
  #now = Date.UTC(2030, 0, 1)
  readonly #sleepers = new Set<Sleeper>()

  now(): number {
    return this.#now
  }

  /** The number of pending sleeps, to detect leaks. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      const interrupt = () => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      const wake = () => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', interrupt)
        resolve()
      }
      const sleeper: Sleeper = { until: this.#now + delayMs, wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', interrupt, { once: true })
    })
  }

  /** Ends the sleeps that are due, in the order of their times, and lets each caller start its next sleep. */
  async advance(delayMs: number): Promise<void> {
    const end = this.#now + delayMs
    for (;;) {
      const [next] = [...this.#sleepers].sort((one, other) => one.until - other.until)
      if (next === undefined || next.until > end) break
      this.#now = Math.max(this.#now, next.until)
      next.wake()
      await settle()
    }
    this.#now = end
    await settle()
  }
}

/** Lets all pending microtasks run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
