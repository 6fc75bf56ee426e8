/**
 * Timeouts for work that obeys an abort signal. session.ts starts one for every request, so they are cheap: all share one timer.
 * A released deadline leaves no timer and no listener behind.
 */

import type { Clock } from '../util/async/clock.ts'
import { TimerQueue } from '../util/async/timer-queue.ts'

export interface SessionDeadline {
  /** Aborted at the timeout, or with the outer signal. */
  readonly signal: AbortSignal
  /** Cancels the timeout; the outer signal still aborts. */
  clearTimeout(): void
  /** Cancels the timeout and stops listening to the outer signal. */
  release(): void
}

export class SessionDeadlines {
  readonly #timers: TimerQueue<() => void>
  /** Callbacks by outer signal, behind one event listener per signal: adding an event listener per request would be slow. */
  readonly #listeners = new WeakMap<AbortSignal, Set<() => void>>()

  constructor(clock: Clock, signal: AbortSignal | undefined) {
    this.#timers = new TimerQueue(clock, (expire) => expire(), signal)
  }

  /** `toError` creates the abort reason at the timeout; a limit of null means no timeout. */
  start(limitMs: number | null, outer: AbortSignal | undefined, toError: () => Error): SessionDeadline {
    const inner = new AbortController()
    const abort = () => inner.abort(outer?.reason)
    const expire = () => inner.abort(toError())
    const listeners = outer === undefined ? undefined : this.#listenersOf(outer)
    if (outer?.aborted) abort()
    else listeners?.add(abort)
    if (limitMs !== null && Number.isFinite(limitMs)) this.#timers.setAfter(expire, limitMs)
    return {
      signal: inner.signal,
      clearTimeout: () => this.#timers.cancel(expire),
      release: () => {
        this.#timers.cancel(expire)
        listeners?.delete(abort)
      },
    }
  }

  #listenersOf(outer: AbortSignal): Set<() => void> {
    const known = this.#listeners.get(outer)
    if (known !== undefined) return known
    const listeners = new Set<() => void>()
    this.#listeners.set(outer, listeners)
    outer.addEventListener(
      'abort',
      () => {
        for (const abort of listeners) abort()
      },
      { once: true },
    )
    return listeners
  }
}
