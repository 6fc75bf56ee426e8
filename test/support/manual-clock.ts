/** A clock that stands still until it is told to go on, as a user of the package could write one. */

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

  /** How many sleep at the moment: what was left behind when nobody should. */
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

  /** Wakes whoever's time has come, in the order of their times, and gives each the time to fall asleep again. */
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

/** Lets everything run that waits for nothing but its turn. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
