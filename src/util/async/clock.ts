/** The clock of an operator, and the only file that may use the timers of Node. Tests replace the clock by one that skips time. */

/**
 * The activities that a skipping clock must know: the operator runs (`run`), starts or stops while a caller waits (`passage`), has not
 * returned from `start()` (`start`), calls a function of the user (`call`), or such a function sleeps with this clock (`sleep`).
 */
export type Occupation = 'run' | 'passage' | 'start' | 'call' | 'sleep'

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Resolves after `delayMs`; rejects with the signal's reason if it is aborted first. The timer keeps the process alive, unless
   * `isBackground` is set.
   */
  sleep(delayMs: number, signal?: AbortSignal, options?: { readonly isBackground?: boolean }): Promise<void>
  /** Milliseconds of a monotonic clock, from an arbitrary start. Default: `now`. */
  monotonic?(): number
  /** For clocks that skip time: called when an activity begins; the returned function is called when it ends. */
  attend?(occupation: Occupation): () => void
}

/**
 * The abort reason for a sleep or other work that is no longer needed. An abort without a reason creates an error with a stack, which
 * takes tens of microseconds per request.
 */
export const noLongerNeeded: object = Object.freeze({ reason: 'no longer needed' })

/** The maximum delay of Node's timers; a longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),

  async sleep(delayMs, signal, { isBackground = false } = {}) {
    let left = delayMs
    do {
      const part = Math.min(left, maxTimerMs)
      await sleepOnce(part, signal, isBackground)
      left -= part
    } while (left > 0)
  },
}

/** Sleeps without rejecting: false if the signal was aborted first. */
export async function trySleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> {
  await clock.sleep(delayMs, signal).catch(() => {})
  return !signal.aborted
}

/** Calls back after a delay of any length. The timer does not keep the process alive. */
export function callAfter(delayMs: number, callback: () => void): void {
  const part = Math.min(delayMs, maxTimerMs)
  const next = () => (delayMs > part ? callAfter(delayMs - part, callback) : callback())
  setTimeout(next, part).unref()
}

/** Resolves in the next turn of the event loop, after pending input was handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function sleepOnce(delayMs: number, signal: AbortSignal | undefined, isBackground: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const wake = () => {
      signal?.removeEventListener('abort', interrupt)
      resolve()
    }
    const timer = setTimeout(wake, delayMs)
    if (isBackground) timer.unref()
    const interrupt = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', interrupt, { once: true })
  })
}

/** The time for measuring durations: not affected when the time of day is set. */
export function monotonicNow(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now()
}

/** The monotonic time of the system, for code without a clock. */
export function monotonicMs(): number {
  return performance.now()
}
