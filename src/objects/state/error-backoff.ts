/** The backoff of one object after unexpected errors of the framework: `settings.queueing.errorDelays`, one after the other. A part of WatchedObject. */
import { type Duration, toMs } from '../../util/text/duration.ts'

/** Used if `errorDelays` is empty, so that an error does not become a busy loop. */
const minDelayMs = 1000

export class ErrorBackoff {
  #failures = 0
  /** By the monotonic clock. */
  #untilMs = -Infinity

  get hasFailed(): boolean {
    return this.#failures > 0
  }

  remainingMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs)
  }

  /** Records an error. Returns the time for which the object is not handled. */
  fail(delays: readonly Duration[], nowMs: number): number {
    const delay = delays[Math.min(this.#failures, delays.length - 1)]
    const delayMs = delay === undefined ? minDelayMs : toMs(delay)
    this.#failures += 1
    this.#untilMs = nowMs + delayMs
    return delayMs
  }

  /** The object can be handled again at once; the next error has the next delay. */
  skipDelay(): void {
    this.#untilMs = -Infinity
  }

  reset(): void {
    this.#failures = 0
    this.#untilMs = -Infinity
  }
}
