/**
 * The clocks of test clusters. The clock of the embedded cluster skips time while the test waits, or while an operator starts or
 * stops. At other times it runs as fast as real time, so that a test is never slower than reality.
 */
import { type Clock, monotonicMs, noLongerNeeded, type Occupation, systemClock } from '../../util/async/clock.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'
import { SkippingClock } from '../skipping-clock.ts'
import { EndlessWrites, WriteCounts } from './write-counts.ts'

/** How time passes: see the option `clock` of `startCluster`. */
export type ClockMode = 'skipping' | 'deterministic' | 'real'

/** The clock of a test cluster and its operators. */
export interface ClusterClock extends Clock {
  /**
   * Lets the given time pass, with everything that happens in it. Takes no real time on the skipping clock; takes the full time
   * with `clock: 'real'` and on a real cluster.
   */
  advance(duration: Duration): Promise<void>
  /**
   * Skips no time until the work is done, and resolves to its result. For work outside of this process that the clock cannot see, such as
   * a program that the test runs. Without effect if time is not skipped.
   *
   * @example
   * ```ts
   * await cluster.clock.hold(execa('kubectl', ['--kubeconfig', await cluster.kubeconfig(), 'get', 'pods']))
   * ```
   */
  hold<T>(work: Promise<T>): Promise<T>
  /** The number of activities of this type in progress, for example of handlers that run (`call`). */
  occupied(occupation: Occupation): number
}

/** The clock with the callbacks that the test kit needs. */
export interface BackendClock extends ClusterClock {
  /** Called after each `advance`, before it resolves. */
  onAdvanced: () => Promise<void>
  /**
   * Called when this many milliseconds were skipped and an operator still has not started. Never called by a clock that does not
   * skip time.
   */
  onStuck: (waitedMs: number) => void
  /** Real time for which handlers have been running without a pause; 0 on a clock that does not skip time. */
  readonly callingMs: number
}

/** The interval at which the clock follows real time. */
const tickMs = 10
/** An operator that starts or stops may wait for something real. Time is skipped for it only after this quiet time. */
const passageQuietMs = 50
/** A failing startup handler is retried forever. `start()` is aborted after this skipped time and this real time. */
const maxStartMs = { skippedMs: 1_800_000, realMs: 3000 } as const

export interface EmbeddedClockOptions {
  /** Whether real work is in progress whose end the clock must wait for. */
  readonly isOccupied: () => boolean
  /**
   * The maximum real time to wait for a user function before time is skipped. It is short while faults are active, because
   * functions then wait for this clock to retry.
   */
  readonly maxPatienceMs: () => number
  /** Time stands still unless the test waits, or an operator starts or stops. */
  readonly isDeterministic: boolean
}

export class EmbeddedClock extends SkippingClock implements BackendClock {
  onAdvanced: () => Promise<void> = async () => {}
  onStuck: (waitedMs: number) => void = () => {}
  readonly writes: WriteCounts = new WriteCounts()
  readonly #options: EmbeddedClockOptions
  #waiting = 0
  /** The number of calls of `hold` whose work has not ended. */
  #held = 0
  /** The time skipped since an operator last began to start, and the monotonic time of that beginning. */
  #skippedMs = 0
  #startedMs = 0
  /** Aborted to stop the clock; undefined while no operator runs and time stands still. */
  #following: AbortController | undefined

  constructor(options: EmbeddedClockOptions) {
    super(systemClock.now())
    this.#options = options
  }

  override attend(occupation: Occupation): () => void {
    const over = super.attend(occupation)
    if (occupation === 'start') this.#recordStart()
    if (occupation === 'run' && this.#following === undefined) {
      this.#following = new AbortController()
      void this.#followRealTime(this.#following.signal)
    }
    return () => {
      over()
      if (this.occupied('run') === 0) this.#stopFollowing()
    }
  }

  override isBusy(): boolean {
    return this.#held > 0 || this.#options.isOccupied() || super.isBusy()
  }

  override checkProgress(): void {
    const { endless } = this.writes
    if (endless === undefined) return
    this.writes.reset()
    throw new EndlessWrites(endless)
  }

  async hold<T>(work: Promise<T>): Promise<T> {
    this.#held += 1
    try {
      return await work
    } finally {
      this.#held -= 1
    }
  }

  override get patienceMs(): number {
    return Math.min(super.patienceMs, this.#options.maxPatienceMs())
  }

  override advance(duration: Duration): Promise<void> {
    return this.whileWaiting(async () => {
      await super.advance(duration)
      await this.onAdvanced()
    })
  }

  /** Runs the work of a test that waits. The work itself moves the time, so the clock does not follow real time meanwhile. */
  async whileWaiting<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    try {
      return await work()
    } finally {
      this.#waiting -= 1
    }
  }

  /** Follows real time while an operator runs. */
  async #followRealTime(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await systemClock.sleep(tickMs, signal).catch(() => {})
      if (this.#waiting === 0) this.#tick()
    }
  }

  /** Stops following real time when the last operator has ended, so that no timer keeps the process alive. */
  #stopFollowing(): void {
    this.#following?.abort(noLongerNeeded)
    this.#following = undefined
  }

  #tick(): void {
    const isAwaited = this.occupied('passage') > 0 && this.quietMs >= passageQuietMs && !this.isBusy()
    const sinceMs = this.now()
    if (isAwaited && this.skip()) {
      this.#recordSkipped(this.now() - sinceMs)
      return
    }
    if (this.#options.isDeterministic) return
    const endMs = this.now() + tickMs
    while (this.skip(endMs));
    this.set(endMs)
  }

  #recordStart(): void {
    this.#skippedMs = 0
    this.#startedMs = monotonicMs()
  }

  #recordSkipped(skippedMs: number): void {
    if (this.occupied('start') === 0) return
    this.#skippedMs += skippedMs
    const isLong = monotonicMs() - this.#startedMs >= maxStartMs.realMs
    if (isLong && this.#skippedMs >= maxStartMs.skippedMs) this.onStuck(this.#skippedMs)
  }
}

/** The clock for `clock: 'real'` and for real clusters: real time, with counted activities. */
export class RealClock implements BackendClock {
  onAdvanced: () => Promise<void> = async () => {}
  onStuck: (waitedMs: number) => void = () => {}
  readonly callingMs = 0
  readonly #occupied: Record<Occupation, number> = { run: 0, passage: 0, start: 0, call: 0, sleep: 0 }

  now(): number {
    return systemClock.now()
  }

  monotonic(): number {
    return systemClock.monotonic!()
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(delayMs, signal)
  }

  attend(occupation: Occupation): () => void {
    this.#occupied[occupation] += 1
    return () => {
      this.#occupied[occupation] -= 1
    }
  }

  occupied(occupation: Occupation): number {
    return this.#occupied[occupation]
  }

  hold<T>(work: Promise<T>): Promise<T> {
    return work
  }

  async advance(duration: Duration): Promise<void> {
    await systemClock.sleep(toMs(duration, 'the time to pass'))
    await this.onAdvanced()
  }
}
