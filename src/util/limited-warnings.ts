/**
 * Warnings that others can cause at will, such as refused requests: each text once in a while, and few texts at all, so that
 * no client can fill the log. Texts that are left out are logged at the level debug, and counted in a later warning.
 */
import { type Clock, monotonicOf } from './clock.ts'
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
    const nowMs = monotonicOf(this.#clock)
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
