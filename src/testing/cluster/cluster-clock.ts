/**
 * The clocks of test clusters. In the embedded one time is skipped while somebody waits for it: the test, for something to
 * happen, or an operator that starts or stops. Otherwise it passes as anywhere, so that nothing is ever slower than in reality.
 */
import { type Clock, monotonicMs, noLongerNeeded, type Occupation, systemClock } from '../../util/async/clock.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'
import { SkippingClock } from '../skipping-clock.ts'

/** How time passes: see the option `clock` of `startCluster`. */
export type ClockMode = 'skipping' | 'deterministic' | 'real'

/** The clock that operators on the cluster live by. */
export interface ClusterClock extends Clock {
  /** Lets so much time pass, with all that happens in it. On a real cluster that takes as long. */
  advance(duration: Duration): Promise<void>
  /**
   * Skips no time until the work is done, and resolves to its result. For work outside of this process that the clock cannot see, such as
   * a program that the test runs. No effect where time is not skipped.
   *
   * @example
   * ```ts
   * await cluster.clock.hold(execa('kubectl', ['--kubeconfig', await cluster.kubeconfig(), 'get', 'pods']))
   * ```
   */
  hold<T>(work: Promise<T>): Promise<T>
  /** How many are at it now. */
  occupied(occupation: Occupation): number
}

/** The same for the kit itself. */
export interface BackendClock extends ClusterClock {
  /** Called whenever time was let pass by `advance`, before that resolves. */
  onAdvanced: () => Promise<void>
  /** Called when time was skipped for so many milliseconds, and an operator has still not started. Never where time is not skipped. */
  onStuck: (waitedMs: number) => void
}

const tickMs = 10
/** What starts or stops may have to do with the real world: time is skipped for it only when nothing else moves for so long. */
const passageQuietMs = 50
/** A startup handler that fails is tried again for ever: it is given so much time, skipped time and real time alike. */
const maxStartMs = { skippedMs: 1_800_000, realMs: 3000 } as const

export interface EmbeddedClockOptions {
  /** Something real is under way, whose end is to be waited for. */
  readonly isOccupied: () => boolean
  /** Under faults functions of the user may wait for this clock, to try again: they are waited for only so long in real time. */
  readonly maxPatienceMs: () => number
  /** Time stands still unless the test waits, or an operator starts or stops. */
  readonly isDeterministic: boolean
}

export class EmbeddedClock extends SkippingClock implements BackendClock {
  onAdvanced: () => Promise<void> = async () => {}
  onStuck: (waitedMs: number) => void = () => {}
  readonly #options: EmbeddedClockOptions
  #waiting = 0
  /** The number of calls of `hold` whose work has not ended. */
  #held = 0
  /** How much time was skipped since an operator last began to start, and when that was by the clock of this machine. */
  #skippedMs = 0
  #beganMs = 0
  /** Aborted to end it; undefined where time stands still. */
  #flowing: AbortController | undefined

  constructor(options: EmbeddedClockOptions) {
    super(systemClock.now())
    this.#options = options
  }

  override attend(occupation: Occupation): () => void {
    const over = super.attend(occupation)
    if (occupation === 'start') this.#noteStart()
    if (occupation === 'run' && this.#flowing === undefined) {
      this.#flowing = new AbortController()
      void this.#flow(this.#flowing.signal)
    }
    return () => {
      over()
      if (this.occupied('run') === 0) this.#rest()
    }
  }

  override isBusy(): boolean {
    return this.#held > 0 || this.#options.isOccupied() || super.isBusy()
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
    return this.waited(async () => {
      await super.advance(duration)
      await this.onAdvanced()
    })
  }

  /** While the test waits for it, whoever waits lets time pass. */
  async waited<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    try {
      return await work()
    } finally {
      this.#waiting -= 1
    }
  }

  /** For as long as there is an operator. */
  async #flow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await systemClock.sleep(tickMs, signal).catch(() => {})
      if (this.#waiting === 0) this.#tick()
    }
  }

  /** With the last operator goes the last timer. */
  #rest(): void {
    this.#flowing?.abort(noLongerNeeded)
    this.#flowing = undefined
  }

  #tick(): void {
    const isAwaited = this.occupied('passage') > 0 && this.quietMs >= passageQuietMs && !this.isBusy()
    const sinceMs = this.now()
    if (isAwaited && this.skip()) {
      this.#noteSkipped(this.now() - sinceMs)
      return
    }
    if (this.#options.isDeterministic) return
    const endMs = this.now() + tickMs
    while (this.skip(endMs));
    this.set(endMs)
  }

  #noteStart(): void {
    this.#skippedMs = 0
    this.#beganMs = monotonicMs()
  }

  #noteSkipped(skippedMs: number): void {
    if (this.occupied('start') === 0) return
    this.#skippedMs += skippedMs
    const isLong = monotonicMs() - this.#beganMs >= maxStartMs.realMs
    if (isLong && this.#skippedMs >= maxStartMs.skippedMs) this.onStuck(this.#skippedMs)
  }
}

/** Time as it is. */
export class RealClock implements BackendClock {
  onAdvanced: () => Promise<void> = async () => {}
  onStuck: (waitedMs: number) => void = () => {}
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
