/** Names the handlers that block the process, and those that do not come back. */
import type { CallEnd, CallWatch } from '../core/handling/invoke.ts'
import { titleOf } from '../core/handling/kinds.ts'
import { Alarms } from '../util/alarms.ts'
import { type Clock, monotonicMs, monotonicOf } from '../util/clock.ts'
import type { Logger } from '../util/log.ts'
import { RecentMaximum } from '../util/recent-maximum.ts'

interface Running {
  /** `Timer 'ping'`. */
  readonly title: string
  readonly logger: Logger
  readonly startedMs: number
  readonly onEndless: (() => void) | undefined
}

/** Nobody notices less; anything more delays every other object. */
const blockedMs = 1000
/** A handler that has not come back by then does not count as work in progress any more. */
const endlessMs = 60_000
const checkEveryMs = 500
/** Timers of thousands of objects may be under way: any of them can be the one. */
const mostNamed = 5
const recentMs = 10_000

export class Watchdog {
  readonly #clock: Clock
  readonly #running = new Set<Running>()
  readonly #alarms: Alarms<Running>
  readonly #lateness = new RecentMaximum(recentMs)

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock
    this.#alarms = new Alarms(clock, (call) => this.#warnEndless(call), signal)
  }

  /** How late the event loop was in the last ten seconds, at worst. */
  get lagMs(): number {
    return this.#lateness.at(monotonicMs())
  }

  /** `onEndless` is called once for a call that has no end in sight. */
  watchOf(onEndless?: () => void): CallWatch {
    return {
      begin: ({ handler, logger }) =>
        this.#begin({ title: titleOf(handler), logger, startedMs: monotonicOf(this.#clock), onEndless }),
    }
  }

  /** They run for as long as their objects are there: only what blocks is of interest. */
  watchOfDaemons(): CallWatch {
    return {
      begin: ({ handler, logger }) => {
        const startedMs = monotonicMs()
        return { returned: () => warnIfBlocked({ title: titleOf(handler), logger }, startedMs), settled: () => {} }
      },
    }
  }

  #begin(call: Running): CallEnd {
    const startedMs = monotonicMs()
    this.#running.add(call)
    this.#alarms.setAfter(call, endlessMs)
    const over = this.#clock.attend?.('call')
    return {
      returned: () => warnIfBlocked(call, startedMs),
      settled: () => {
        over?.()
        this.#running.delete(call)
        this.#alarms.cancel(call)
      },
    }
  }

  #warnEndless({ title, logger, startedMs, onEndless }: Running): void {
    const seconds = Math.round((monotonicOf(this.#clock) - startedMs) / 1000)
    const waits = onEndless === undefined ? '' : ': this object waits, others go on without it'
    logger.warn(`${title} has been running for ${seconds} seconds and has not come back${waits}.`)
    onEndless?.()
  }

  /** Notices what blocks later than in its first moments; it can only name those that were under way. */
  async checkLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const before = monotonicMs()
      await this.#clock.sleep(checkEveryMs, signal).catch(() => {})
      const lateMs = Math.max(0, monotonicMs() - before - checkEveryMs)
      this.#lateness.add(lateMs, monotonicMs())
      if (lateMs < blockedMs || signal.aborted) continue
      for (const call of [...this.#running].slice(0, mostNamed)) warnBlocked(call, lateMs)
    }
  }
}

function warnIfBlocked(call: Pick<Running, 'title' | 'logger'>, startedMs: number): void {
  const elapsedMs = monotonicMs() - startedMs
  if (elapsedMs >= blockedMs) warnBlocked(call, elapsedMs)
}

function warnBlocked({ title, logger }: Pick<Running, 'title' | 'logger'>, elapsedMs: number): void {
  logger.warn(
    `${title} has blocked the event loop for ${(elapsedMs / 1000).toFixed(1)} seconds: nothing else can run meanwhile. ` +
      'Use asynchronous calls, or move the work to a worker thread with inWorker().',
  )
}
