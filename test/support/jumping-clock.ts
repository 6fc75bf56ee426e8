/** A clock whose time of day can be set. Sleeps and the monotonic clock are not affected. */
import type { Clock } from '../../src/util/async/clock.ts'

export class JumpingClock implements Clock {
  readonly #steady: Clock
  readonly #beganMs: number
  #offMs = 0

  constructor(steady: Clock) {
    this.#steady = steady
    this.#beganMs = steady.now()
  }

  now(): number {
    return this.#steady.now() + this.#offMs
  }

  monotonic(): number {
    return this.#steady.now() - this.#beganMs
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return this.#steady.sleep(delayMs, signal)
  }

  /** Sets the time of day forward, or back if negative. */
  jump(byMs: number): void {
    this.#offMs += byMs
  }
}
