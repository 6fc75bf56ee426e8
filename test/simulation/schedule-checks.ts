/**
 * Checks when daemons and timers may be called again. Called by daemon-journal.ts.
 *
 * - B5: the calls of a timer are separated by its interval or by the delay of an error, and the attempts are counted.
 * - B6: no call occurs within the idle time after a change that was received.
 */
import type { Run } from './daemon-journal.ts'
import type { Journal } from './simulation-journal.ts'

/** The calls of a daemon or timer from its start to its stop. */
interface Series {
  readonly anchorMs: number
  last: Run
}

/** Times are whole milliseconds. */
export const toleranceMs = 1

export class Rhythms {
  readonly #series = new WeakMap<object, Series>()
  readonly #journal: Journal

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Called at the start of every call. */
  check(run: Run): void {
    const { part, args, uid, process, beganMs } = run
    const { stopped } = args
    const series = this.#series.get(stopped)
    if (series === undefined) this.#series.set(stopped, { anchorMs: beganMs, last: run })
    else {
      this.#checkGap(run, series)
      series.last = run
    }
    const { idle } = part.options
    const changedMs = this.#journal.changedMs(process, uid)
    if (idle === undefined || changedMs === undefined || beganMs - changedMs >= idle * 1000 - toleranceMs) return
    this.#journal.violate('B6', `"${part.id}" of ${run.name} is called ${beganMs - changedMs} ms after a change`)
  }

  #checkGap(run: Run, { anchorMs, last }: Series): void {
    const { part, name, beganMs } = run
    const { interval, sharp } = part.options
    const leastMs = last.end === 'retry' ? last.delayMs : sharp ? 0 : (interval ?? 0) * 1000
    const gapMs = beganMs - (last.endedMs ?? Infinity)
    if (gapMs < leastMs - toleranceMs) {
      this.#journal.violate('B5', `"${part.id}" of ${name} is called ${gapMs} ms after its last call, not ${leastMs}`)
    }
    if (run.retry !== (last.end === 'retry' ? last.retry + 1 : 0)) {
      this.#journal.violate('B5', `"${part.id}" of ${name} is in attempt ${run.retry} after ${last.retry}`)
    }
    if (sharp && last.end !== 'retry') this.#checkGrid(run, { anchorMs, last })
  }

  /** A sharp timer is called once per interval, at the beginning of the interval unless the event loop was blocked. */
  #checkGrid({ part, name, beganMs }: Run, { anchorMs, last }: Series): void {
    const intervalMs = part.options.interval! * 1000
    const sinceMs = beganMs - anchorMs + toleranceMs
    const isAgain = Math.floor(sinceMs / intervalMs) <= Math.floor((last.beganMs - anchorMs + toleranceMs) / intervalMs)
    const isLate = sinceMs % intervalMs > 2 * toleranceMs && !this.#journal.reached.has('the event loop is blocked')
    if (!isAgain && !isLate) return
    this.#journal.violate(
      'B5',
      `"${part.id}" of ${name} is called ${beganMs - last.beganMs} ms after its last call began`,
    )
  }
}
