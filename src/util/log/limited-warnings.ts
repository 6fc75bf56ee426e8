/**
 * Limits warnings that clients can cause, such as rejected requests: each text once a minute, and ten texts a minute. Omitted warnings
 * are logged at level debug and counted in a later warning.
 */
import { type Clock, monotonicNow } from '../async/clock.ts'
import type { Logger } from './log.ts'

const windowMs = 60_000
const maxPerWindow = 10

export class LimitedWarnings {
  readonly #clock: Clock
  readonly #logger: Logger
  /** The texts of the current window; at most `maxPerWindow`. */
  readonly #texts = new Set<string>()
  #endsMs = Number.NEGATIVE_INFINITY
  #omitted = 0

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  warn(text: string): void {
    const nowMs = monotonicNow(this.#clock)
    if (nowMs >= this.#endsMs) this.#startWindow(nowMs)
    if (this.#texts.has(text) || this.#texts.size >= maxPerWindow) {
      this.#omitted += 1
      this.#logger.debug(text)
      return
    }
    this.#texts.add(text)
    this.#logger.warn(text)
  }

  #startWindow(nowMs: number): void {
    if (this.#omitted > 0) this.#logger.warn(`${this.#omitted} more warnings of this kind were left out.`)
    this.#texts.clear()
    this.#omitted = 0
    this.#endsMs = nowMs + windowMs
  }
}
