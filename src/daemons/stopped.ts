/**
 * The stop flag of one daemon or timer. The user reads it as the argument `stopped`; daemon-pool.ts sets it, and termination.ts cancels a task that does
 * not stop in time.
 */
import type { DaemonStoppingReason, Stopped } from '../handlers/args/args.ts'
import { nextTurn } from '../util/async/clock.ts'
import { createSharedController } from '../util/async/shared-signal.ts'
import type { TimerQueue } from '../util/async/timer-queue.ts'
import { type Duration, toMs } from '../util/text/duration.ts'

/** The waits of all daemons in `stopped.wait(duration)`, in one shared timer queue. */
export type StopWaits = TimerQueue<() => void>

export class Stopper implements Stopped {
  readonly #waits: StopWaits
  /** Created on the first `wait`, and the controllers on the first access to their signals: most daemons only call `isSet`. */
  #waiters: Set<() => void> | undefined
  #controller: AbortController | undefined
  #cancellation: AbortController | undefined
  #isCancelled = false
  #reason: DaemonStoppingReason | undefined

  constructor(waits: StopWaits) {
    this.#waits = waits
  }

  get reason(): DaemonStoppingReason | undefined {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = createSharedController()
      if (this.isSet()) this.#abort()
    }
    return this.#controller.signal
  }

  /** The argument `signal` of the handler: aborted when the time for a graceful exit is over. */
  get cancellation(): AbortSignal {
    if (this.#cancellation === undefined) {
      this.#cancellation = createSharedController()
      if (this.#isCancelled) this.cancel()
    }
    return this.#cancellation.signal
  }

  isSet(): boolean {
    return this.#reason !== undefined
  }

  /** Creates a single promise and no async function: waiting promises are most of the memory that thousands of daemons use. */
  wait(duration?: Duration): Promise<boolean> {
    return new Promise((resolve) => {
      const delayMs = duration === undefined ? undefined : toMs(duration, 'the duration to wait')
      // Resolves in a later turn of the event loop: a loop that ignores the result must not block the process.
      if (this.isSet()) void nextTurn().then(() => resolve(true))
      else this.#sleep(delayMs, resolve)
    })
  }

  set(reason: DaemonStoppingReason): void {
    this.#reason = reason
    if (this.#controller !== undefined) this.#abort()
    for (const wake of this.#waiters ?? []) wake()
  }

  cancel(): void {
    this.#isCancelled = true
    this.#cancellation?.abort(new DOMException('There is no more time', 'AbortError'))
  }

  #sleep(delayMs: number | undefined, resolve: (isSet: boolean) => void): void {
    this.#waiters ??= new Set()
    const wake = () => {
      this.#waiters?.delete(wake)
      this.#waits.cancel(wake)
      resolve(this.isSet())
    }
    this.#waiters.add(wake)
    if (delayMs !== undefined) this.#waits.setAfter(wake, delayMs)
  }

  #abort(): void {
    this.#controller?.abort(new DOMException(`Stopped: ${this.#reason}`, 'AbortError'))
  }
}
