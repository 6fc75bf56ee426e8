/** The flag that asks a daemon or a timer to stop, and what follows when it does not: the side its author sees, and ours. */
import type { DaemonStoppingReason, Stopped } from '../handlers/args/args.ts'
import { nextTurn } from '../util/async/clock.ts'
import { createSharedController } from '../util/async/shared-signal.ts'
import type { TimerQueue } from '../util/async/timer-queue.ts'
import { type Duration, toMs } from '../util/text/duration.ts'

/** Those who wait for a flag, or for their time to be over: one heap for all of them. */
export type StopWaits = TimerQueue<() => void>

export class Stopper implements Stopped {
  readonly #waits: StopWaits
  /** Made when somebody waits or asks for the signal: most flags are only looked at. */
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

  /** Aborted when there is no more time. */
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

  /** One promise, and nothing async around it: what daemons wait for is most of what thousands of them weigh. */
  wait(duration?: Duration): Promise<boolean> {
    return new Promise((resolve) => {
      const delayMs = duration === undefined ? undefined : toMs(duration, 'the duration to wait')
      // Never at once: a loop that takes no notice of the answer must not keep everybody else from their turn.
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
