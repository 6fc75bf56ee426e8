/**
 * Writing while handlers run: what is finished does not wait for the one that takes its time, and no step begins before the
 * results of those before it are written. One write at a time. Used by cycle.ts; the write itself is that of
 * objects/change-handling.ts.
 */
import { TemporaryError } from '../errors.ts'
import { type Clock, monotonicNow, noLongerNeeded } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'

export interface CheckpointOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Writes all there is so far; rejects where it cannot be. */
  readonly write: () => Promise<'written' | 'gone'>
}

/** Nothing that is finished stays unwritten for longer while a handler runs. */
const maxUnwrittenMs = 1000

export class Checkpoints {
  readonly #options: CheckpointOptions
  /** How many calls are under way: a handler, its sub-handler, … */
  #calls = 0
  #unwrittenSinceMs: number | undefined
  /** Among what is not written are results of steps. */
  #hasSteps = false
  #alarm: AbortController | undefined
  /** Resolves when the write that is under way is over, whatever came of it. */
  #writing: Promise<void> | undefined
  #isGone = false
  #hasWritten = false

  constructor(options: CheckpointOptions) {
    this.#options = options
  }

  /** The object at hand is not any more as it was at the beginning; not as we know it, at least. */
  get hasWritten(): boolean {
    return this.#hasWritten
  }

  /** Something is finished: it is written with what comes next, but soon. */
  add({ isStep }: { readonly isStep: boolean }): void {
    this.#hasSteps ||= isStep
    this.#unwrittenSinceMs ??= monotonicNow(this.#options.clock)
    if (this.#calls > 0) this.#setAlarm()
  }

  /** For as long as the call takes. */
  async during<T>(call: Promise<T>): Promise<T> {
    this.#calls += 1
    if (this.#unwrittenSinceMs !== undefined) this.#setAlarm()
    try {
      return await call
    } finally {
      this.#calls -= 1
      if (this.#calls === 0) {
        this.#cancelAlarm()
        await this.#writing
      }
    }
  }

  /** Resolves when the results of all steps are written: whoever begins another one can count on them. */
  async commit(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    if (this.#hasSteps) {
      await this.#write().catch((error: unknown) => {
        const message = `The results of the steps before could not be written: ${describeError(error)}`
        throw new TemporaryError(message, { delay: 1, cause: error })
      })
    }
    if (this.#isGone)
      throw new TemporaryError('The results of the steps before could not be written: the object is gone')
  }

  #write(): Promise<void> {
    const { write } = this.#options
    const hadSteps = this.#hasSteps
    this.#cancelAlarm()
    this.#unwrittenSinceMs = undefined
    this.#hasSteps = false
    this.#hasWritten = true
    const done = write().then(
      (outcome) => {
        this.#isGone ||= outcome === 'gone'
      },
      (error: unknown) => {
        this.#hasSteps ||= hadSteps
        throw error
      },
    )
    const over = () => {
      this.#writing = undefined
    }
    this.#writing = done.then(over, over)
    return done
  }

  #setAlarm(): void {
    if (this.#alarm !== undefined || this.#unwrittenSinceMs === undefined) return
    const { clock } = this.#options
    const alarm = new AbortController()
    this.#alarm = alarm
    const leftMs = Math.max(0, this.#unwrittenSinceMs + maxUnwrittenMs - monotonicNow(clock))
    void clock.sleep(leftMs, alarm.signal).then(
      () => this.#ring(alarm),
      () => {},
    )
  }

  #cancelAlarm(): void {
    this.#alarm?.abort(noLongerNeeded)
    this.#alarm = undefined
  }

  /** A failure here is not the handler's: it is written afterwards. */
  #ring(alarm: AbortController): void {
    if (this.#alarm !== alarm) return
    this.#alarm = undefined
    if (this.#writing !== undefined || this.#unwrittenSinceMs === undefined) return
    this.#write().catch((error: unknown) => {
      const words = 'The progress could not be written while another handler is running: it is written afterwards.'
      this.#options.logger.warn(words, { error })
    })
  }
}
