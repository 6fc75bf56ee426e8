/** A clock whose time of day somebody sets, now and then; what sleeps, and what is measured, takes no notice. */
import type { Clock } from '../../src/util/clock.ts'

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

  /** Forward, or back where it is negative. */
  jump(byMs: number): void {
    this.#offMs += byMs
  }
}
