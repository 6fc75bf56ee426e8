/**
 * Time limits on what obeys a signal. Used by session.ts for every request, so they are cheap: one timer for all of them.
 * Leaves no timer and no listener behind.
 */
import { Alarms } from '../util/alarms.ts'
import type { Clock } from '../util/clock.ts'

export interface Deadline {
  /** Aborted when the time is over, or with the outer signal. */
  readonly signal: AbortSignal
  /** The time does not matter any more; the outer signal still does. */
  lift(): void
  /** Neither matters any more. */
  release(): void
}

export class Deadlines {
  readonly #alarms: Alarms<() => void>
  /** One listener for all requests that obey a signal: one signal stops a whole operator, and listening is slow. */
  readonly #followers = new WeakMap<AbortSignal, Set<() => void>>()

  constructor(clock: Clock, signal: AbortSignal | undefined) {
    this.#alarms = new Alarms(clock, (expire) => expire(), signal)
  }

  /** `toReason` makes the error of the one who waited too long; null is no limit. */
  start(limitMs: number | null, outer: AbortSignal | undefined, toReason: () => Error): Deadline {
    const inner = new AbortController()
    const abort = () => inner.abort(outer?.reason)
    const expire = () => inner.abort(toReason())
    const followers = outer === undefined ? undefined : this.#followersOf(outer)
    if (outer?.aborted) abort()
    else followers?.add(abort)
    if (limitMs !== null && Number.isFinite(limitMs)) this.#alarms.setAfter(expire, limitMs)
    return {
      signal: inner.signal,
      lift: () => this.#alarms.cancel(expire),
      release: () => {
        this.#alarms.cancel(expire)
        followers?.delete(abort)
      },
    }
  }

  #followersOf(outer: AbortSignal): Set<() => void> {
    const known = this.#followers.get(outer)
    if (known !== undefined) return known
    const followers = new Set<() => void>()
    this.#followers.set(outer, followers)
    outer.addEventListener(
      'abort',
      () => {
        for (const abort of followers) abort()
      },
      { once: true },
    )
    return followers
  }
}
