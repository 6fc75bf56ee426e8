/** Limits the logins per address: a burst, and one more every few seconds. Bounded in memory. */
import type { Clock } from '../../util/async/clock.ts'
import { LruMap } from '../../util/lru-map.ts'

const burst = 20
const refillMs = 3000
const maxAddresses = 2000

interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

export class LoginAttempts {
  readonly #clock: Clock
  readonly #buckets = new LruMap<string, Bucket>(maxAddresses)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts an attempt. Returns false if the address has to wait. */
  take(address: string): boolean {
    const nowMs = this.#clock.now()
    const { tokens, atMs } = this.#buckets.get(address) ?? { tokens: burst, atMs: nowMs }
    const current = Math.min(burst, tokens + Math.max(0, nowMs - atMs) / refillMs)
    this.#buckets.set(address, { tokens: current < 1 ? current : current - 1, atMs: nowMs })
    return current >= 1
  }
}
