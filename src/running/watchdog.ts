/** Names the handlers that block the process, and those that do not come back. */
import type { CallEnd, CallWatch } from '../core/handling/invoke.ts'
import { Alarms } from '../util/alarms.ts'
import { type Clock, monotonicMs } from '../util/clock.ts'
import type { Logger } from '../util/log.ts'

interface Running {
  readonly id: string
  readonly logger: Logger
  readonly startedMs: number
  readonly onEndless: (() => void) | undefined
}

/** Nobody notices less; anything more delays every other object. */
const blockedMs = 1000
/** A handler that has not come back by then does not count as work in progress any more. */
const endlessMs = 60_000
const checkEveryMs = 500

export class Watchdog {
  readonly #clock: Clock
  readonly #running = new Set<Running>()
  readonly #alarms: Alarms<Running>

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock
    this.#alarms = new Alarms(clock, (call) => this.#warnEndless(call), signal)
  }

  /** `onEndless` is called once for a call that has no end in sight. */
  watchOf(onEndless?: () => void): CallWatch {
    return {
      begin: ({ handler, logger }) => this.#begin({ id: handler.id, logger, startedMs: this.#clock.now(), onEndless }),
    }
  }

  #begin(call: Running): CallEnd {
    const startedMs = monotonicMs()
    this.#running.add(call)
    this.#alarms.set(call, call.startedMs + endlessMs)
    return {
      returned: () => {
        const elapsedMs = monotonicMs() - startedMs
        if (elapsedMs >= blockedMs) warnBlocked(call, elapsedMs)
      },
      settled: () => {
        this.#running.delete(call)
        this.#alarms.cancel(call)
      },
    }
  }

  #warnEndless({ id, logger, startedMs, onEndless }: Running): void {
    const seconds = Math.round((this.#clock.now() - startedMs) / 1000)
    logger.warn(
      `Handler '${id}' has been running for ${seconds} seconds and has not come back: this object waits, others go on without it.`,
    )
    onEndless?.()
  }

  /** Notices what blocks later than in its first moments; it can only name those that were under way. */
  async checkLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const before = monotonicMs()
      await this.#clock.sleep(checkEveryMs, signal).catch(() => {})
      const lateMs = monotonicMs() - before - checkEveryMs
      if (lateMs < blockedMs || signal.aborted) continue
      for (const call of this.#running) warnBlocked(call, lateMs)
    }
  }
}

function warnBlocked({ id, logger }: Running, elapsedMs: number): void {
  logger.warn(
    `Handler '${id}' has blocked the event loop for ${(elapsedMs / 1000).toFixed(1)} seconds: nothing else can run meanwhile. ` +
      'Use asynchronous calls, or move the work to a worker thread.',
  )
}
