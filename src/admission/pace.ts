/** How soon the keeper may write the same again: somebody else may want something else, and neither must win by force. */
import { type Clock, monotonicNow } from '../util/async/clock.ts'

/** Before the first write, the second, …; the last one repeats. */
const pausesMs = [0, 0, 1000, 2000, 5000, 10_000, 30_000, 60_000]
/** More than two of us need who take turns with the longest pause. */
const quietMs = 600_000

export class RepairBackoff {
  readonly #clock: Clock
  #inRow = -1
  #lastMs = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many writes of the same there were before this one, one soon after the other. */
  get inRow(): number {
    return this.#inRow
  }

  /** What is to be written is another thing than before: that is nobody's quarrel. */
  reset(): void {
    this.#inRow = -1
  }

  /** Waits before the next write. */
  async wait(signal: AbortSignal): Promise<void> {
    const isCalm = monotonicNow(this.#clock) - this.#lastMs > quietMs
    this.#inRow = isCalm ? 0 : this.#inRow + 1
    const pauseMs = pausesMs[Math.min(this.#inRow, pausesMs.length - 1)]!
    if (pauseMs > 0) await this.#clock.sleep(pauseMs, signal)
    this.#lastMs = monotonicNow(this.#clock)
  }
}
