/**
 * A clock for tests that does not wait: its time stands still until `advance` or `pass` is called, and then jumps from one
 * sleeper to the next. Operators report their activities with `attend`, so that the clock does not skip time while a handler or a
 * request is in progress.
 */
import { type Clock, monotonicMs, nextTurn, type Occupation, systemClock } from '../util/async/clock.ts'
import { type Duration, toMs } from '../util/text/duration.ts'

interface Sleeper {
  readonly untilMs: number
  wake(): void
}

/**
 * Number of turns of the event loop without any change after which the process counts as idle. A response of the embedded server
 * takes a few turns; a daemon gets ten turns to stop.
 */
const idleTurns = 12

/** Turns with changes after which a wait looks at the state and at its limits again: the process may never become idle. */
export const maxChangedTurns: number = 10

/**
 * Real time to wait for a user function before time is skipped while the function runs: the function may itself wait for this
 * clock.
 */
const patienceMs = 500
/**
 * The same limit while a user function sleeps with this clock: the function may do real work in parallel, for example a request
 * with a timeout. The limit is halved after each finished sleep, so that a function that polls a thousand times does not slow the
 * test down.
 */
const sleepPatienceMs = 25

/**
 * A clock for tests. `now()` and `sleep()` work as on every clock; time passes only when the test calls `advance()`, and then
 * takes no real time. The clock starts at 2030-01-01 UTC unless the constructor gets another time in milliseconds. `startCluster`
 * creates its own clock (`cluster.clock`); use this class to test code without a cluster.
 *
 * @example
 * ```ts
 * const clock = new SkippingClock()
 * const slept = clock.sleep(60_000)
 * await clock.advance('1m') // takes no time
 * await slept
 * ```
 */
export class SkippingClock implements Clock {
  /** The number of activities in progress, by type. */
  readonly #occupied: Record<Occupation, number> = { run: 0, passage: 0, start: 0, call: 0, sleep: 0 }
  readonly #sleepers = new Set<Sleeper>()
  #nowMs: number
  /** Incremented by every change that the clock notices: sleeps, activities, requests. */
  #changes = 0
  /** The monotonic time of the last change, in real milliseconds. */
  #changedMs = 0
  #sleepPatienceMs = sleepPatienceMs
  /** The monotonic time since which at least one user function has been running, in real milliseconds. */
  #callingMs = 0
  /** The monotonic time at which a user function last began to sleep with this clock, in real milliseconds. */
  #asleepMs = 0

  constructor(nowMs: number = Date.UTC(2030, 0, 1)) {
    this.#nowMs = nowMs
  }

  /** Returns the time of this clock, in milliseconds since the epoch. */
  now(): number {
    return this.#nowMs
  }

  /** Resolves when the clock has reached the time; rejects if the signal is aborted first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      const leave = (): void => {
        this.stir()
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', interrupt)
      }
      const interrupt = (): void => {
        leave()
        reject(signal?.reason)
      }
      const wake = (): void => {
        leave()
        resolve()
      }
      const sleeper: Sleeper = { untilMs: this.#nowMs + Math.max(0, delayMs), wake }
      this.stir()
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', interrupt, { once: true })
    })
  }

  /** Called by operators when an activity begins. The returned function is called when the activity ends. */
  attend(occupation: Occupation): () => void {
    this.#occupied[occupation] += 1
    if (occupation === 'call' && this.#occupied.call === 1) this.#callingMs = monotonicMs()
    if (occupation === 'call') this.#sleepPatienceMs = sleepPatienceMs
    if (occupation === 'sleep') this.#asleepMs = monotonicMs()
    this.stir()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#occupied[occupation] -= 1
      if (occupation === 'sleep') this.#sleepPatienceMs /= 2
      this.stir()
    }
  }

  /** The number of activities of this type in progress. */
  occupied(occupation: Occupation): number {
    return this.#occupied[occupation]
  }

  /** Real time for which user functions have been running without a pause, in milliseconds; 0 if none runs. */
  get callingMs(): number {
    return this.#occupied.call === 0 ? 0 : monotonicMs() - this.#callingMs
  }

  /** The number of pending sleeps. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  /** Incremented by every change. Code that waits until the process is idle compares two readings. */
  get changes(): number {
    return this.#changes
  }

  /**
   * Reports a change from outside the clock, for example a request. The clock does not skip time until the process is idle again.
   */
  stir(): void {
    this.#changes += 1
    this.#changedMs = monotonicMs()
  }

  /** Lets the given time pass, with everything that happens in it. Resolves when the process is idle. */
  async advance(duration: Duration): Promise<void> {
    const endMs = this.#nowMs + toMs(duration, 'the time to pass')
    while (await this.pass(endMs));
    this.set(endMs)
    await untilIdle(this)
  }

  /**
   * Waits until the process is idle. If nothing changed meanwhile, moves the time to the earliest end of a sleep. Returns false
   * if no sleep ends before `limitMs`.
   */
  async pass(limitMs: number = Infinity): Promise<boolean> {
    const { changes } = this
    // Work that has ended during the wait may have consequences that have not happened yet.
    const wasBusy = this.isBusy()
    await untilIdle(this, maxChangedTurns)
    if (this.#changes !== changes) return true
    if (!wasBusy && !this.isBusy()) return this.skip(limitMs)
    await systemClock.sleep(1)
    return true
  }

  /** Called while the process is not idle. Throws if it will not become idle. */
  checkProgress(): void {}

  /** Whether a user function is running that deserves more real time before time is skipped. */
  isBusy(): boolean {
    if (this.#occupied.call === 0) return false
    // While a function sleeps, each skipped step is a change. The quiet time is therefore measured from the beginning of the
    // sleep.
    const quietMs = this.#occupied.sleep > 0 ? monotonicMs() - this.#asleepMs : this.quietMs
    return quietMs < this.patienceMs
  }

  /** Real time to wait for a user function before time is skipped while it runs. */
  get patienceMs(): number {
    return this.#occupied.sleep > 0 ? this.#sleepPatienceMs : patienceMs
  }

  /** Real time since the last change, in milliseconds. */
  get quietMs(): number {
    return monotonicMs() - this.#changedMs
  }

  /** Moves the time to the earliest end of a sleep and wakes that sleeper. Returns false if there is none up to `limitMs`. */
  skip(limitMs: number = Infinity): boolean {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers) if (next === undefined || sleeper.untilMs < next.untilMs) next = sleeper
    if (next === undefined || next.untilMs > limitMs) return false
    this.#nowMs = Math.max(this.#nowMs, next.untilMs)
    next.wake()
    return true
  }

  /** Moves the time forward without waking sleepers. The caller wakes them with `skip` first. */
  set(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
  }
}

/** Resolves when the process is idle: nothing has changed for several turns of the event loop. Gives up after this number of turns with changes. */
export async function untilIdle(clock: SkippingClock, maxChanged: number = Infinity): Promise<void> {
  for (let turns = 0, changed = 0, seen = clock.changes; turns < idleTurns && changed < maxChanged; turns += 1) {
    await nextTurn()
    if (clock.changes === seen) continue
    clock.checkProgress()
    changed += 1
    seen = clock.changes
    turns = 0
  }
}
