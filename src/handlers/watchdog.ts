/** Names the handlers that block the process, and those that do not come back. */

import { type Clock, monotonicMs, monotonicNow } from '../util/async/clock.ts'
import { TimerQueue } from '../util/async/timer-queue.ts'
import type { Logger } from '../util/log/log.ts'
import { SlidingMaximum } from '../util/sliding-max.ts'
import { titleOf } from './handler.ts'
import type { CallEnd, CallWatch } from './invoke.ts'

interface RunningCall {
  /** `Timer 'ping'`. */
  readonly title: string
  readonly logger: Logger
  readonly startedMs: number
  readonly place: WorkerPlace | undefined
  /** The log has named it as one that does not come back. */
  isNamed: boolean
}

/** The worker that a call keeps busy, and when it stops to count as one. */
interface WorkerPlace {
  /** Lets another object be worked on; false where that cannot be for now. */
  readonly yield: () => boolean
  readonly afterMs: number
}

/** Nobody notices less; anything more delays every other object. */
const blockedMs = 1000
/** A handler that has not come back by then is named in the log. */
const endlessMs = 60_000
const checkEveryMs = 500
/** Timers of thousands of objects may be under way: any of them can be the one. */
const maxNamed = 5
const recentMs = 10_000
/** A stop names each of so many handlers that were cut off; of more it gives the number. */
const maxCutNamed = 20

export class Watchdog {
  readonly #clock: Clock
  readonly #running = new Set<RunningCall>()
  readonly #alarms: TimerQueue<RunningCall>
  readonly #lateness = new SlidingMaximum(recentMs)
  /** The time for handlers of the stop that is under way. */
  #stopMs = 0

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock
    this.#alarms = new TimerQueue(clock, (call) => this.#noteSlow(call), signal)
  }

  /** How late the event loop was in the last ten seconds, at worst. */
  get lagMs(): number {
    return this.#lateness.at(monotonicMs())
  }

  watchOf(place?: WorkerPlace): CallWatch {
    return {
      begin: ({ handler, logger }) =>
        this.#begin({ title: titleOf(handler), logger, startedMs: monotonicNow(this.#clock), place, isNamed: false }),
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

  #begin(call: RunningCall): CallEnd {
    const startedMs = monotonicMs()
    this.#running.add(call)
    this.#alarms.setAfter(call, Math.min(call.place?.afterMs ?? Infinity, endlessMs))
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

  #noteSlow(call: RunningCall): void {
    const elapsedMs = monotonicNow(this.#clock) - call.startedMs
    const slowMs = call.place?.afterMs ?? Infinity
    const hasYielded = elapsedMs >= slowMs && call.place!.yield()
    if (elapsedMs >= endlessMs && !call.isNamed) {
      call.isNamed = true
      warnEndless(call, { elapsedMs, hasYielded })
    }
    for (const dueMs of [slowMs, endlessMs]) if (dueMs > elapsedMs) this.#alarms.setAfter(call, dueMs - elapsedMs)
  }

  /** At a stop: how many handlers are waited for, which ones, and for how long at most. */
  reportWaiting(logger: Logger, limitMs: number): void {
    this.#stopMs = limitMs
    const calls = this.#onObjects()
    if (calls.length === 0) return
    const handlers = calls.length === 1 ? '1 handler' : `${calls.length} handlers`
    logger.info(`Stopping: waiting up to ${limitMs / 1000} seconds for ${handlers} at work: ${nameTitles(calls)}.`)
  }

  /** When the time of a stop is up: names the handlers that have not ended, each in the log of its object. */
  reportCut(reason?: string): void {
    const calls = this.#onObjects()
    const why =
      reason ?? `it has not ended within ${this.#stopMs / 1000} seconds of the stop (settings.queueing.exitTimeout)`
    for (const { title, logger } of calls.slice(0, maxCutNamed)) logger.warn(`${title} is cut off: ${why}.`)
    const more = calls.slice(maxCutNamed)
    if (more.length > 0) more[0]!.logger.warn(`${more.length} more handlers are cut off: ${nameTitles(more)}.`)
  }

  /** Calls that keep an object busy; timers and daemons are stopped, and reported, elsewhere. */
  #onObjects(): RunningCall[] {
    return [...this.#running].filter(({ place }) => place !== undefined)
  }

  /** Notices what blocks later than in its first moments; it can only name those that were under way. */
  async checkLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const before = monotonicMs()
      await this.#clock.sleep(checkEveryMs, signal).catch(() => {})
      const lateMs = Math.max(0, monotonicMs() - before - checkEveryMs)
      this.#lateness.add(lateMs, monotonicMs())
      if (lateMs < blockedMs || signal.aborted) continue
      for (const call of [...this.#running].slice(0, maxNamed)) warnBlocked(call, lateMs)
    }
  }
}

function warnEndless(
  { title, logger, place }: RunningCall,
  { elapsedMs, hasYielded }: { readonly elapsedMs: number; readonly hasYielded: boolean },
): void {
  const effect = hasYielded
    ? ': this object waits, others go on without it'
    : ': this object waits, and its worker is not free for another'
  const seconds = Math.round(elapsedMs / 1000)
  logger.warn(
    `${title} has been running for ${seconds} seconds and has not come back${place === undefined ? '' : effect}.`,
  )
}

function warnIfBlocked(call: Pick<RunningCall, 'title' | 'logger'>, startedMs: number): void {
  const elapsedMs = monotonicMs() - startedMs
  if (elapsedMs >= blockedMs) warnBlocked(call, elapsedMs)
}

function warnBlocked({ title, logger }: Pick<RunningCall, 'title' | 'logger'>, elapsedMs: number): void {
  logger.warn(
    `${title} has blocked the event loop for ${(elapsedMs / 1000).toFixed(1)} seconds: nothing else can run meanwhile. ` +
      'Use asynchronous calls, or move the work to a worker thread with inWorker().',
  )
}

/** Each title once, with its number of calls: `Handler 'create' (3), Handler 'update'`. */
function nameTitles(calls: readonly RunningCall[]): string {
  const counts = new Map<string, number>()
  for (const { title } of calls) counts.set(title, (counts.get(title) ?? 0) + 1)
  const names = [...counts].map(([title, count]) => (count === 1 ? title : `${title} (${count})`))
  const more = names.length - maxNamed
  return names.slice(0, maxNamed).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
