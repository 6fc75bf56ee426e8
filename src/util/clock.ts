/** Telling the time and waiting: the only file that may call the timers of the platform. */

/**
 * What an operator is at: it runs; it starts or stops, and is waited for; its `start()` has not answered yet; it has called a function of the user; such a function sleeps
 * by this clock.
 */
export type Occupation = 'run' | 'passage' | 'start' | 'call' | 'sleep'

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Resolves after so many milliseconds; rejects with the signal's reason when it is aborted before. A clock that starts timers of the
   * platform lets them keep the process alive, except for a sleep in the background.
   */
  sleep(delayMs: number, signal?: AbortSignal, options?: { readonly isBackground?: boolean }): Promise<void>
  /** Milliseconds from an arbitrary moment that are never set back or forward. Default: as `now`. */
  monotonic?(): number
  /** For clocks that skip time: told what goes on, and by calling what is returned, that it is over. */
  attend?(occupation: Occupation): () => void
}

/**
 * Why a sleep, or anything else that obeys a signal, was ended although nothing is wrong. Given as the reason, since an
 * abort without one makes an error with a stack: tens of microseconds, for every request.
 */
export const noLongerNeeded: object = Object.freeze({ reason: 'no longer needed' })

/** Timers take a 32-bit number of milliseconds; anything longer would fire at once. */
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),

  async sleep(delayMs, signal, { isBackground = false } = {}) {
    let left = delayMs
    do {
      const part = Math.min(left, longestTimerMs)
      await sleepOnce(part, signal, isBackground)
      left -= part
    } while (left > 0)
  },
}

/** Calls it after so long if the process is still there: nothing is kept alive for it. */
export function ringAfter(delayMs: number, ring: () => void): void {
  const part = Math.min(delayMs, longestTimerMs)
  const next = () => (delayMs > part ? ringAfter(delayMs - part, ring) : ring())
  setTimeout(next, part).unref()
}

/** Resolves once the input that has already come was dealt with: what follows from it can then be sent together. */
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

/** For durations: what such a clock tells of the time of day may jump. */
export function monotonicOf(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now()
}

/** Milliseconds from an arbitrary moment; never set back, so it is for measuring how long something took. */
export function monotonicMs(): number {
  return performance.now()
}
