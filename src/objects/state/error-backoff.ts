/** Delays after unexpected errors of the framework for one object: `settings.queueing.errorDelays`, one after the other. */
import { type Duration, toMs } from '../../util/text/duration.ts'

/** Without configured delays an error must not become a busy loop either. */
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

  /** Returns how long the object is not handled. */
  fail(delays: readonly Duration[], nowMs: number): number {
    const delay = delays[Math.min(this.#failures, delays.length - 1)]
    const delayMs = delay === undefined ? minDelayMs : toMs(delay)
    this.#failures += 1
    this.#untilMs = nowMs + delayMs
    return delayMs
  }

  reset(): void {
    this.#failures = 0
    this.#untilMs = -Infinity
  }
}
