/**
 * Writes while handlers run: the results of finished handlers do not wait for a slow handler, and no step begins before the results of earlier steps
 * are written. One write at a time. Used by cycle.ts and by the steps of reconcilers; the owner of the checkpoints does the writing.
 */
import { TemporaryError } from '../errors.ts'
import { type Clock, monotonicNow, noLongerNeeded } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'

export interface CheckpointOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Writes everything so far. Rejects if the write fails. */
  readonly write: () => Promise<'written' | 'gone'>
}

/** The maximum time for which a finished result stays unwritten while a handler runs. */
const maxUnwrittenMs = 1000

export class Checkpoints {
  readonly #options: CheckpointOptions
  /** The number of running calls: a handler, its sub-handlers and so on. */
  #calls = 0
  #unwrittenSinceMs: number | undefined
  /** Whether results of steps are unwritten. */
  #hasSteps = false
  #alarm: AbortController | undefined
  /** Resolves when the current write has ended, successfully or not. */
  #writing: Promise<void> | undefined
  #isGone = false
  #hasWritten = false

  constructor(options: CheckpointOptions) {
    this.#options = options
  }

  /** Whether a checkpoint was written: the object is then newer than the state with which the cycle began. */
  get hasWritten(): boolean {
    return this.#hasWritten
  }

  /** Called when a handler or a step has finished: its result is written with the next write, at the latest after `maxUnwrittenMs`. */
  add({ isStep }: { readonly isStep: boolean }): void {
    this.#hasSteps ||= isStep
    this.#unwrittenSinceMs ??= monotonicNow(this.#options.clock)
    if (this.#calls > 0) this.#setAlarm()
  }

  /** Writes checkpoints for as long as the call takes. */
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

  /** Resolves when the results of all steps are written, so that the next step can rely on them. */
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

  /** A failed checkpoint does not fail the handler: the write at the end of the cycle has the same content. */
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
