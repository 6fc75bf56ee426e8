/**
 * The state of one daemon or timer of one object: its retries, its schedule, and whether it runs or has ended. Started, called and stopped by
 * daemon-pool.ts.
 */
import type { BackgroundHandler } from '../handlers/handler.ts'
import type { Outcome } from '../handlers/outcomes.ts'
import type { Stopper } from './stopped.ts'

/** The daemons and timers of one object. */
export interface DaemonTasks<O> {
  readonly owner: O
  /** Tasks that were started and have not ended yet, including waiting timers and tasks that are being stopped. */
  readonly running: DaemonTask<O>[]
  /** Handlers whose tasks ended by themselves: they are not started again for this object. */
  finished: BackgroundHandler[] | undefined
}

/** When the next call happens: after a time, when the object changes, or never. */
export type NextCall = { readonly afterMs: number } | 'when-changed' | 'never'

export class DaemonTask<O> {
  readonly handler: BackgroundHandler
  readonly group: DaemonTasks<O>
  readonly stopped: Stopper
  /** The function of the handler is being called. */
  isRunning = false
  /** The task is removed from the pool. */
  hasEnded = false
  /** The task did not end within its timeouts: the finalizer does not wait for it any more, but its function may still run. */
  isAbandoned = false
  /** Resolves with whether the task ended right after the stop signal. Undefined before the task is stopped. */
  instantExit: Promise<boolean> | undefined
  /** Resolves when the task has ended or is abandoned. Undefined before a running task is stopped. */
  termination: Promise<void> | undefined
  /** The timer has no interval and waits only for a change of the object. */
  waitsForChange = false
  /** The object has changed since the last call. */
  isObjectChanged = false
  /** When the first attempt of the current series of retries began, by the wall clock and by the monotonic clock. */
  started: { readonly atMs: number; readonly monotonicMs: number } | undefined
  retries = 0
  /** When the next call is due, by the monotonic clock. Undefined before the first one. */
  dueMs: number | undefined
  /** The start of the first call of a `sharp` timer, by the monotonic clock: its later calls start whole intervals after it. */
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

  /** Updates the retries by the outcome of a call, and returns when the next call is due. */
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

  /** The time until the next regular call of a timer. */
  pauseMs(nowMs: number): number {
    const { intervalMs, sharp, idleMs } = this.handler.background.schedule!
    if (intervalMs === undefined) return idleMs!
    if (!sharp || this.anchorMs === undefined) return intervalMs
    // A sharp timer stays on its grid, however long or late the last call was. Missed calls are skipped.
    return intervalMs - ((nowMs - this.anchorMs) % intervalMs)
  }
}
