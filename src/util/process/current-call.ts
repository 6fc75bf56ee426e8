/**
 * Tracks the handler call that the running code belongs to, also after an `await` and in timers of the handler. Off until
 * `trackCalls` is called, since it adds about a microsecond per call on Node 20 and 22. Written by handlers/invoke.ts; read
 * to attribute errors and a blocked event loop to a handler.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../log/log.ts'

export interface HandlerCall {
  /** `Timer 'ping'`. */
  readonly title: string
  /** The id of the handler. */
  readonly handler: string
  /** Logs about the object of the call, if there is one. */
  readonly logger: Logger
}

/** Called at the start of the synchronous part of a call with the handler's title, and at its end with undefined. */
type Mark = (title: string | undefined) => void

interface Tracking {
  readonly calls: AsyncLocalStorage<HandlerCall>
  mark: Mark | undefined
}

/** A global key: the command and the operator's project may each load a copy of this package. */
const shared: unique symbol = Symbol.for('kopf.calls') as never

function findTracking(): Tracking | undefined {
  return (globalThis as { [shared]?: Tracking })[shared]
}

/** Starts the tracking. Without `mark`, a mark set before is kept. */
export function trackCalls(mark?: Mark): void {
  const tracking = findTracking() ?? { calls: new AsyncLocalStorage<HandlerCall>(), mark: undefined }
  tracking.mark = mark ?? tracking.mark
  ;(globalThis as { [shared]?: Tracking })[shared] = tracking
}

/** The current call; undefined outside of handlers, and without tracking. */
export function currentCall(): HandlerCall | undefined {
  return findTracking()?.calls.getStore()
}

/** Calls the function; all code that it starts belongs to this call. */
export function runInCall<A>(call: HandlerCall, fn: (args: A) => unknown, args: A): unknown {
  const tracking = findTracking()
  if (tracking === undefined) return fn(args)
  tracking.mark?.(call.title)
  try {
    return tracking.calls.run(call, fn, args)
  } finally {
    tracking.mark?.(undefined)
  }
}
