/** The `clock` argument of handlers, on top of the clock of the operator. A run has one for daemons and one for all other handlers. */
import type { Clock } from '../../util/async/clock.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'

/**
 * The `clock` argument of handlers: the system clock in production, the skipping clock of the cluster in tests with `startCluster`. Use it
 * instead of `Date.now()` and `setTimeout`, so that tests do not wait.
 *
 * @example
 * ```ts
 * kopf.on.create(Certificate, async ({ clock, signal }) => {
 *   await clock.sleep('10s', { signal })
 * })
 * ```
 */
export interface HandlerClock {
  /** Returns the current time in milliseconds since the epoch, like `Date.now()`. */
  now(): number
  /** Returns the current time as a `Date`. The argument `now` of handlers is this function. */
  readonly date: () => Date
  /**
   * Resolves after the duration. Rejects if `options.signal` is aborted first, with the reason of the signal. Pass the `signal` argument of
   * the handler, so that a stopping operator does not wait. In daemons, use `stopped.wait()` instead.
   *
   * @example
   * ```ts
   * await clock.sleep('10s', { signal })
   * ```
   */
  sleep(duration: Duration, options?: { readonly signal?: AbortSignal }): Promise<void>
}

/**
 * `isWaitedFor`: whether a skipping clock waits for running calls of the handler. It must then know that the handler sleeps, or time would
 * stand still. False for daemons, for which the clock does not wait.
 */
export function createHandlerClock(clock: Clock, { isWaitedFor }: { readonly isWaitedFor: boolean }): HandlerClock {
  return {
    now: () => clock.now(),
    date: () => new Date(clock.now()),
    async sleep(duration, { signal } = {}) {
      const delayMs = toMs(duration, 'the duration to sleep')
      const over = isWaitedFor ? clock.attend?.('sleep') : undefined
      try {
        await clock.sleep(delayMs, signal)
      } finally {
        over?.()
      }
    },
  }
}
