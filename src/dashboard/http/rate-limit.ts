/**
 * Limits how often a user or an address does something: a burst, and one more after each interval. The dashboard limits logins per address, and how often a user
 * makes the operator compute a view, by a request or by a new stream. A view of many objects takes milliseconds of the event loop, so that a user who asks without
 * a pause would slow the operator down. Updates of open streams have their own limit (event-streams.ts). Used by server.ts.
 */
import { LruMap } from '../../util/lru-map.ts'

export interface RateLimitOptions {
  /** How many are allowed at once. */
  readonly burst: number
  /** The time after which one more is allowed. */
  readonly refillMs: number
  /** What would have to wait longer is refused. 0: nothing waits. */
  readonly maxDelayMs: number
  /** The number of users or addresses that are remembered. */
  readonly maxKeys: number
}

/** Attempts to log in, by address. */
export const loginLimit: RateLimitOptions = { burst: 20, refillMs: 3000, maxDelayMs: 0, maxKeys: 2000 }

/** Computed views, by user. `kopf top` reads five views a second; a page opens a stream for each step of a scrolled list. */
export const viewLimit: RateLimitOptions = { burst: 60, refillMs: 100, maxDelayMs: 5000, maxKeys: 500 }

interface Allowance {
  /** Below 0: that many wait. */
  readonly left: number
  readonly atMs: number
}

export class RateLimit {
  readonly #options: RateLimitOptions
  readonly #allowances: LruMap<string, Allowance>

  constructor(options: RateLimitOptions) {
    this.#options = options
    this.#allowances = new LruMap(options.maxKeys)
  }

  /** Counts one more for the user or address. Returns how long it has to wait; undefined if it is refused. */
  take(key: string, nowMs: number): number | undefined {
    const { burst, refillMs, maxDelayMs } = this.#options
    const { left, atMs } = this.#allowances.get(key) ?? { left: burst, atMs: nowMs }
    const current = Math.min(burst, left + Math.max(0, nowMs - atMs) / refillMs) - 1
    const delayMs = current >= 0 ? 0 : -current * refillMs
    if (delayMs > maxDelayMs) return undefined
    this.#allowances.set(key, { left: current, atMs: nowMs })
    return delayMs
  }
}
