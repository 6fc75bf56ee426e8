/**
 * A clock for tests without waiting: it stands still until somebody lets time pass, and then goes from one who sleeps to the
 * next, at once. Whoever uses it for more than sleeping tells it what goes on, so that nothing is skipped that is under way.
 */
import { type Clock, monotonicMs, nextTurn, type Occupation, systemClock } from '../util/async/clock.ts'
import { type Duration, toMs } from '../util/text/duration.ts'

interface Sleeper {
  readonly untilMs: number
  wake(): void
}

/** How many turns without anything happening are calm: an answer in process takes a few, a daemon is given ten to end. */
const idleTurns = 12

/** How long a function of the user is waited for in real time before time is skipped beside it: it may wait for this clock. */
const patienceMs = 500
/**
 * The same while such a function sleeps by this clock: it may do something real beside, such as a request with a time limit. Half as long
 * after each sleep that has ended, so that a function that polls a thousand times is not waited for each time.
 */
const sleepPatienceMs = 25

/**
 * Time for tests: `now` and `sleep` as of any clock, and `advance` to let it pass.
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
  /** How many are at it, by what they do. */
  readonly #occupied: Record<Occupation, number> = { run: 0, passage: 0, start: 0, call: 0, sleep: 0 }
  readonly #sleepers = new Set<Sleeper>()
  #nowMs: number
  /** Grows with whatever happens, so that one can tell whether something has. */
  #changes = 0
  /** By the clock of this machine. */
  #changedMs = 0
  #sleepPatienceMs = sleepPatienceMs
  /** When a function of the user last fell asleep by this clock, by the clock of this machine. */
  #asleepMs = 0

  constructor(nowMs: number = Date.UTC(2030, 0, 1)) {
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

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

  /** Told by operators what they are at. */
  attend(occupation: Occupation): () => void {
    this.#occupied[occupation] += 1
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

  /** How many are at it now. */
  occupied(occupation: Occupation): number {
    return this.#occupied[occupation]
  }

  /** How many wait for a moment to come. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  /** How often anything has happened: whoever waits for calm compares it. */
  get changes(): number {
    return this.#changes
  }

  /** Something has happened that is none of the clock's business: whoever waits for calm waits on. */
  stir(): void {
    this.#changes += 1
    this.#changedMs = monotonicMs()
  }

  /** Lets so much time pass, with all that happens in it. */
  async advance(duration: Duration): Promise<void> {
    const endMs = this.#nowMs + toMs(duration, 'the time to pass')
    while (await this.pass(endMs));
    this.set(endMs)
    await untilIdle(this)
  }

  /** Lets everything happen that can; where nothing does, goes to the earliest awakening. False where there is none until then. */
  async pass(limitMs: number = Infinity): Promise<boolean> {
    const { changes } = this
    // Work that has ended during the wait may have consequences that have not happened yet.
    const wasBusy = this.isBusy()
    await untilIdle(this)
    if (this.#changes !== changes) return true
    if (!wasBusy && !this.isBusy()) return this.skip(limitMs)
    await systemClock.sleep(1)
    return true
  }

  /** Something is under way that takes real time. */
  isBusy(): boolean {
    if (this.#occupied.call === 0) return false
    // Beside a sleep, time is skipped in many steps, each of which is a change.
    const quietMs = this.#occupied.sleep > 0 ? monotonicMs() - this.#asleepMs : this.quietMs
    return quietMs < this.patienceMs
  }

  /** How long a function of the user is waited for in real time, before time is skipped beside it. */
  get patienceMs(): number {
    return this.#occupied.sleep > 0 ? this.#sleepPatienceMs : patienceMs
  }

  /** For how long, by the clock of this machine, nothing has happened. */
  get quietMs(): number {
    return monotonicMs() - this.#changedMs
  }

  /** To the earliest awakening, unless that is later than the limit; whether there was one. */
  skip(limitMs: number = Infinity): boolean {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers) if (next === undefined || sleeper.untilMs < next.untilMs) next = sleeper
    if (next === undefined || next.untilMs > limitMs) return false
    this.#nowMs = Math.max(this.#nowMs, next.untilMs)
    next.wake()
    return true
  }

  /** To a moment, waking nobody before it is reached by `skip`. */
  set(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
  }
}

/** Everything that waits for nothing but its turn has had it. */
export async function untilIdle(clock: SkippingClock): Promise<void> {
  for (let turns = 0, seen = clock.changes; turns < idleTurns; turns += 1) {
    await nextTurn()
    if (clock.changes === seen) continue
    seen = clock.changes
    turns = 0
  }
}
