/** The clock of handlers: that of the operator, which tests may skip, in the form in which handlers use it. */
import type { Clock } from '../../util/async/clock.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'

/**
 * The time, for handlers: that of the machine in production, that of the cluster in tests with `startCluster`, where time is
 * skipped. Use it instead of `Date.now()` and `setTimeout` in code that a test should not have to wait for.
 *
 * @example
 * ```ts
 * kopf.timer(Certificate, { interval: '1h' }, ({ status, clock, patch }) => {
 *   if (Date.parse(status.expires ?? '') < clock.now()) patch.status.phase = 'Expired'
 * })
 * ```
 */
export interface HandlerClock {
  /** Milliseconds since the epoch, as `Date.now()`. */
  now(): number
  /**
   * Resolves after so long. Rejects with the reason of the signal when that is aborted before: give the `signal` of the handler, so that
   * an operator that stops does not wait for it. Daemons rather use `stopped.wait()`.
   *
   * @example
   * ```ts
   * await clock.sleep('10s', { signal })
   * ```
   */
  sleep(duration: Duration, options?: { readonly signal?: AbortSignal }): Promise<void>
}

/** `isWaitedFor`: tests wait for the handler, so their clock has to know that it waits for the clock. Not so for daemons. */
export function createHandlerClock(clock: Clock, { isWaitedFor }: { readonly isWaitedFor: boolean }): HandlerClock {
  return {
    now: () => clock.now(),
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
