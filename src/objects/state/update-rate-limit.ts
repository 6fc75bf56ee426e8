/**
 * Limits how often an object that changes continuously is handled: the first change is handled at once, and each further run is followed by a pause, so that a
 * thousand edits do not become a thousand runs. Event handlers are not limited. A part of WatchedObject.
 */

/**
 * The pauses after the first run, the second run, and so on while runs follow each other closely; the last pause repeats. Ten seconds of continuous changes
 * cause ten runs.
 */
const pausesMs = [100, 400, 1000, 1000, 1500, 1500, 2000, 2000, 3000]

/** A change that comes this long after the pause restarts the sequence of pauses. */
const quietMs = 1000

export class UpdateRateLimit {
  /** The number of runs that followed each other closely. */
  #runs = 0
  /** By the monotonic clock. */
  #pausedUntilMs = -Infinity

  remainingMs(nowMs: number): number {
    return Math.max(0, this.#pausedUntilMs - nowMs)
  }

  /** Starts the pause after a run. `nowMs` is the time when its outcome is written, since conflicts with other writers may delay the write. */
  recordRun(beganMs: number, nowMs: number): void {
    this.#runs = beganMs < this.#pausedUntilMs + quietMs ? this.#runs + 1 : 0
    this.#pausedUntilMs = nowMs + pausesMs[Math.min(this.#runs, pausesMs.length - 1)]!
  }
}
