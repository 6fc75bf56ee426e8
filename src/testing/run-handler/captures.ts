/**
 * Records the logs and Kubernetes events of a handler in a test, and provides its clock, its stop flag and its client. Used by
 * run-handler.ts.
 */

import type { Client } from '../../client/client.ts'
import type { DaemonStoppingReason, Recorder, Stopped } from '../../handlers/args/args.ts'
import type { HandlerClock } from '../../handlers/args/handler-clock.ts'
import { toCrds } from '../../kube/crds/crd.ts'
import { toObjectReference } from '../../kube/objects.ts'
import type { CustomResource } from '../../kube/resources/resources.ts'
import { ApiServer } from '../../server/api-server.ts'
import { loadObjects } from '../../server/load.ts'
import { nextTurn, systemClock } from '../../util/async/clock.ts'
import { lazy } from '../../util/lazy.ts'
import { nameError } from '../../util/log/describe-error.ts'
import type { LogSink } from '../../util/log/log.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'
import { createTestAccess, createTestSession } from '../cluster/backend.ts'
import type { SkippingClock } from '../skipping-clock.ts'
import type { LoggedLine, RecordedEvent } from './types.ts'

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
      const texts = [message, error instanceof Error ? error.message : String(error)].filter((one) => one !== undefined)
      post('Error', reason ?? nameError(error), texts.join(' '))
    },
    for: (others) => captureEvents(events, Array.isArray(others) ? others : [others as object]),
  }
}

/** A clock whose `sleep` returns at once and moves the time forward. */
export function createCountedClock(clock: SkippingClock): HandlerClock {
  return {
    now: () => clock.now(),
    date: () => new Date(clock.now()),
    async sleep(duration, { signal } = {}) {
      signal?.throwIfAborted()
      await clock.advance(duration)
    },
  }
}

/**
 * The `stopped` argument of daemons in a test: set after the handler has waited for the limit, or when the signal is aborted.
 * Waiting takes no real time.
 */
export class CountedStop implements Stopped {
  /** Combined with `AbortSignal.any`, which adds no listener to the given signal: that signal may belong to a whole program. */
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

/** A client of an empty embedded server, which has only the CRDs of the given resources. The first request starts the server. */
export function createLazyClient(definitions: readonly CustomResource<object>[], namespace: string): Client {
  const start = lazy(async () => {
    const server = new ApiServer()
    await loadObjects(server, toCrds(definitions))
    return server
  })
  const transport = { send: async (...args: Parameters<ApiServer['send']>) => (await start()).send(...args) }
  return createTestAccess(createTestSession(transport, systemClock), namespace).client
}
