/**
 * Watches running handler calls, and logs the handlers that block the event loop, run for longer than a minute, or are cut off by a stop.
 * Also lets the worker of a slow handler process another object.
 */

import type { Observer } from '../observer.ts'
import { type Clock, monotonicMs, monotonicNow } from '../util/async/clock.ts'
import { TimerQueue } from '../util/async/timer-queue.ts'
import type { Logger } from '../util/log/log.ts'
import { SlidingMaximum } from '../util/sliding-max.ts'
import { titleOf } from './handler.ts'
import type { CallEnd, CallWatch, WatchedCall } from './invoke.ts'

interface RunningCall extends WatchedCall {
  /** `Timer 'ping'`. */
  readonly title: string
  readonly startedMs: number
  /** The worker that processes the object; undefined for calls without a worker, such as timers and activities. */
  readonly worker: BusyWorker | undefined
  /** The log has already mentioned that the call runs for too long. */
  isLogged: boolean
}

/** A worker that waits for a handler call. */
interface BusyWorker {
  /** Lets another object be processed in place of this one. Returns false if all additional workers are busy. */
  readonly yield: () => boolean
  /** The duration after which the handler counts as slow: `settings.queueing.slowAfter`. */
  readonly afterMs: number
}

export interface WatchdogOptions {
  readonly clock: Clock
  readonly observer: Observer
  /** Aborted when the operator has stopped. */
  readonly signal: AbortSignal
}

/** How long a stop waits for running handlers. */
export interface StopLimit {
  readonly limitMs: number
  /** The origin of the limit: a setting, or a fact. */
  readonly origin: string
}

/** A handler that blocks the event loop for longer is logged: it delays all other objects. */
const blockedMs = 1000
/** A handler that runs for longer is logged. */
const endlessMs = 60_000
const checkEveryMs = 500
/** How many calls a warning about a blocked event loop names: any of the running calls, possibly thousands, may be the cause. */
const maxNamed = 5
const recentMs = 10_000
/** How many handlers that a stop has cut off are logged one by one; the others are only counted. */
const maxCutNamed = 20

export class Watchdog {
  readonly #clock: Clock
  readonly #running = new Set<RunningCall>()
  readonly #alarms: TimerQueue<RunningCall>
  readonly #lateness = new SlidingMaximum(recentMs)
  readonly #observer: Observer

  constructor({ clock, observer, signal }: WatchdogOptions) {
    this.#clock = clock
    this.#observer = observer
    this.#alarms = new TimerQueue(clock, (call) => this.#checkSlow(call), signal)
  }

  /** The maximum delay of the event loop in the last ten seconds. */
  get lagMs(): number {
    return this.#lateness.at(monotonicMs())
  }

  watchOf(worker?: BusyWorker): CallWatch {
    return {
      begin: (call) =>
        this.#begin({
          ...call,
          title: titleOf(call.handler),
          startedMs: monotonicNow(this.#clock),
          worker,
          isLogged: false,
        }),
    }
  }

  /** Daemons run as long as their objects exist, so only those that block the event loop are logged. */
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
    this.#alarms.setAfter(call, Math.min(call.worker?.afterMs ?? Infinity, endlessMs))
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

  #checkSlow(call: RunningCall): void {
    const elapsedMs = monotonicNow(this.#clock) - call.startedMs
    const slowMs = call.worker?.afterMs ?? Infinity
    const hasYielded = elapsedMs >= slowMs && call.worker!.yield()
    if (elapsedMs >= endlessMs && !call.isLogged) {
      call.isLogged = true
      warnEndless(call, { elapsedMs, hasYielded })
    }
    for (const dueMs of [slowMs, endlessMs]) if (dueMs > elapsedMs) this.#alarms.setAfter(call, dueMs - elapsedMs)
  }

  /** Logs at the beginning of a stop for which handlers the operator waits, and for how long at most. */
  reportWaiting(logger: Logger, { limitMs }: StopLimit, hint: string | undefined): void {
    const calls = this.#onObjects()
    if (calls.length === 0) return
    const handlers = calls.length === 1 ? '1 handler' : `${calls.length} handlers`
    logger.info(`Stopping: ${describeWait(handlers, limitMs, hint)}. Waiting for ${nameTitles(calls)}.`)
  }

  /** Reports the handlers that have not ended in time when the operator stops. Each is logged with the logger of its object. */
  reportCut({ limitMs, origin }: StopLimit): void {
    const calls = this.#onObjects()
    const why = limitMs > 0 ? `it has not ended within ${limitMs / 1000} seconds of the stop (${origin})` : origin
    for (const { handler, object } of calls) {
      this.#observer.handlerCutOff?.({ handler: { id: handler.id, type: handler.type }, object: object?.() })
    }
    for (const { title, logger } of calls.slice(0, maxCutNamed)) logger.warn(`${title} is cut off: ${why}.`)
    const more = calls.slice(maxCutNamed)
    if (more.length > 0) more[0]!.logger.warn(`${more.length} more handlers are cut off: ${nameTitles(more)}.`)
  }

  /** Running calls with a worker. Timers and daemons have none: daemons/ stops and logs them. */
  #onObjects(): RunningCall[] {
    return [...this.#running].filter(({ worker }) => worker !== undefined)
  }

  /**
   * Measures the delay of the event loop until the signal is aborted. Detects handlers that block after their first `await`; the log can
   * then only name all running calls.
   */
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

/** `3 handlers at work, at most 15 s; Ctrl-C again to end at once` */
function describeWait(subject: string, limitMs: number, hint: string | undefined): string {
  return `${subject} at work, at most ${Math.round(limitMs / 100) / 10} s${hint === undefined ? '' : `; ${hint}`}`
}

function warnEndless(
  { title, logger, worker }: RunningCall,
  { elapsedMs, hasYielded }: { readonly elapsedMs: number; readonly hasYielded: boolean },
): void {
  const effect = hasYielded
    ? ': this object waits, other objects continue'
    : ': this object waits, and its worker is not free for another'
  const seconds = Math.round(elapsedMs / 1000)
  logger.warn(
    `${title} has been running for ${seconds} seconds and has not returned${worker === undefined ? '' : effect}.`,
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

/** Lists each title once, with its number of calls: `Handler 'create' (3), Handler 'update'`. */
function nameTitles(calls: readonly RunningCall[]): string {
  const counts = new Map<string, number>()
  for (const { title } of calls) counts.set(title, (counts.get(title) ?? 0) + 1)
  const names = [...counts].map(([title, count]) => (count === 1 ? title : `${title} (${count})`))
  const more = names.length - maxNamed
  return names.slice(0, maxNamed).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
