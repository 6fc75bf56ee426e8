/** What a handler says while it runs: its log, its events, and what it asks of its flag to stop. */
import type { DaemonStoppingReason, Recorder, Stopped } from '../core/handling/args.ts'
import type { HandlerClock } from '../core/handling/handler-clock.ts'
import { nameError } from '../core/handling/outcomes.ts'
import { toObjectReference } from '../kube/objects.ts'
import { nextTurn } from '../util/clock.ts'
import { type Duration, toMs } from '../util/duration.ts'
import type { LogSink } from '../util/log.ts'
import type { LoggedLine, RecordedEvent } from './handler-run.ts'
import type { SkippingClock } from './skipping-clock.ts'

export function captureLogs(logs: LoggedLine[]): LogSink {
  return { minimumLevel: 'debug', log: ({ level, message }) => void logs.push({ level, message }) }
}

export function captureEvents(events: RecordedEvent[], objects: readonly object[]): Recorder {
  const post = (type: string, reason: string, message: string) => {
    for (const object of objects) events.push({ type, reason, message, name: toObjectReference(object).name })
  }
  return {
    event: ({ type, reason, message = '' }) => post(type, reason, message),
    info: (reason, message = '') => post('Normal', reason, message),
    warn: (reason, message = '') => post('Warning', reason, message),
    exception: (error, { reason, message } = {}) => {
      const said = [message, error instanceof Error ? error.message : String(error)].filter((one) => one !== undefined)
      post('Error', reason ?? nameError(error), said.join(' '))
    },
    for: (others) => captureEvents(events, Array.isArray(others) ? others : [others as object]),
  }
}

/** Sleeping takes no time, but time has passed afterwards. */
export function createCountedClock(clock: SkippingClock): HandlerClock {
  return {
    now: () => clock.now(),
    async sleep(duration, { signal } = {}) {
      signal?.throwIfAborted()
      await clock.advance(duration)
    },
  }
}

/** Told to stop when it has waited for so long, or by the signal; what it waits for takes no time. */
export class CountedStop implements Stopped {
  /** Follows the other without listening to it: that may be of a whole program. */
  readonly signal: AbortSignal
  readonly #limitMs: number
  readonly #controller = new AbortController()
  #waitedMs = 0

  constructor(limit: Duration, signal: AbortSignal) {
    this.#limitMs = toMs(limit, '`stopAfter`')
    this.signal = AbortSignal.any([signal, this.#controller.signal])
  }

  get reason(): DaemonStoppingReason | undefined {
    return this.isSet() ? 'operator-exiting' : undefined
  }

  isSet(): boolean {
    return this.signal.aborted
  }

  async wait(duration?: Duration): Promise<boolean> {
    this.#waitedMs += duration === undefined ? Infinity : toMs(duration, 'the duration to wait')
    await nextTurn()
    if (this.#waitedMs >= this.#limitMs) this.#controller.abort()
    return this.isSet()
  }
}
