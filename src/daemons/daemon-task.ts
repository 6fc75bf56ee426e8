/**
 * One daemon or one timer of one object: what it is waiting for, how often it was tried, and what follows from a call.
 * Started, called and stopped by background.ts.
 */
import type { BackgroundHandler } from '../handlers/handler.ts'
import type { Outcome } from '../handlers/outcomes.ts'
import type { Stopper } from './stopped.ts'

/** What runs for one object. */
export interface DaemonTasks<O> {
  readonly owner: O
  /** Those that are there, also while they end. */
  readonly running: DaemonTask<O>[]
  /** Those that have ended by themselves: they are not started again for this object. */
  finished: BackgroundHandler[] | undefined
}

/** What follows a call: another one after so long, or when the object has changed, or none ever. */
export type NextCall = { readonly afterMs: number } | 'when-changed' | 'never'

export class DaemonTask<O> {
  readonly handler: BackgroundHandler
  readonly group: DaemonTasks<O>
  readonly stopped: Stopper
  /** Its function is being called. */
  isRunning = false
  /** Nothing of it is left. */
  hasEnded = false
  /** It did not end in time: nobody waits for it any more, but it may still be there. */
  isAbandoned = false
  /** Whether it has ended within a moment of being asked; there once it is. */
  moment: Promise<boolean> | undefined
  /** Resolves when it has ended or is abandoned; there once somebody sees to it. */
  ending: Promise<void> | undefined
  /** Waits for a change of the object, and for nothing else. */
  waitsForChange = false
  /** The object has changed since it was last called. */
  hasNews = false
  /** When the first attempt of a series began: the time of day, and by the clock that nobody sets. Undefined before it. */
  started: { readonly atMs: number; readonly monotonicMs: number } | undefined
  retries = 0
  /** When the next call is due, by the monotonic clock. Undefined before the first one. */
  dueMs: number | undefined
  /** Where the grid of a sharp timer begins; by the clock that nobody sets. */
  anchorMs: number | undefined
  #onEnd: Array<() => void> | undefined

  constructor(handler: BackgroundHandler, group: DaemonTasks<O>, stopped: Stopper) {
    this.handler = handler
    this.group = group
    this.stopped = stopped
  }

  get owner(): O {
    return this.group.owner
  }

  end(): void {
    this.hasEnded = true
    for (const resolve of this.#onEnd ?? []) resolve()
  }

  ended(): Promise<void> {
    if (this.hasEnded) return Promise.resolve()
    this.#onEnd ??= []
    const waiting = this.#onEnd
    return new Promise((resolve) => waiting.push(resolve))
  }

  /** Keeps the count of attempts, and says when the next one is due. */
  follow(outcome: Outcome, nowMs: number): NextCall {
    if (outcome.type === 'retry') {
      this.retries += 1
      return { afterMs: outcome.delayMs }
    }
    this.started = undefined
    this.retries = 0
    const schedule = this.handler.background.schedule
    if (schedule === undefined || outcome.type === 'failed') return 'never'
    return schedule.intervalMs === undefined ? 'when-changed' : { afterMs: this.pauseMs(nowMs) }
  }

  /** How long a timer waits for its next tick, whatever came of the last one. */
  pauseMs(nowMs: number): number {
    const { intervalMs, sharp, idleMs } = this.handler.background.schedule!
    if (intervalMs === undefined) return idleMs!
    if (!sharp || this.anchorMs === undefined) return intervalMs
    // On the grid, however long the call took or how late it was; what was missed meanwhile is not made up for.
    return intervalMs - ((nowMs - this.anchorMs) % intervalMs)
  }
}
