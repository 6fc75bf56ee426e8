/**
 * Pauses between the runs of an object that changes all the time: the first change is handled at once, then there is a pause after each run
 * while changes keep coming, so that a thousand edits do not become a thousand runs. Handlers of `on.event` see every event.
 */

/**
 * After the first run, the second, and so on while runs follow each other closely; the last one repeats. Ten seconds of continuous changes
 * are ten runs; with a status to write, that is twenty writes.
 */
const pausesMs = [100, 400, 1000, 1000, 1500, 1500, 2000, 2000, 3000]

/** A change that comes this long after the pause starts the count again. */
const quietMs = 1000

export class UpdateRateLimit {
  /** Runs that followed each other closely. */
  #runs = 0
  /** By the monotonic clock. */
  #pausedUntilMs = -Infinity

  remainingMs(nowMs: number): number {
    return Math.max(0, this.#pausedUntilMs - nowMs)
  }

  /** The pause starts when the outcome of the run is written: on an object with many writers, that alone takes a while. */
  recordRun(beganMs: number, nowMs: number): void {
    this.#runs = beganMs < this.#pausedUntilMs + quietMs ? this.#runs + 1 : 0
    this.#pausedUntilMs = nowMs + pausesMs[Math.min(this.#runs, pausesMs.length - 1)]!
  }
}
