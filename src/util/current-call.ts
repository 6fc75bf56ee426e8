/**
 * Which call of a handler the running code belongs to: also after an `await`, and in timers that the handler has set. Off until
 * `trackCalls` is called, since on Node 20 and 22 it adds about a microsecond to a call. Written by core/handling/invoke.ts, read
 * where an error or a blocked event loop is to be attributed to a handler.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from './log.ts'

export interface HandlerCall {
  /** `Timer 'ping'`. */
  readonly title: string
  /** The id of the handler. */
  readonly handler: string
  /** Its lines are about the object of the call, if there is one. */
  readonly logger: Logger
}

/** Sees the synchronous part of a call begin, with the title of its handler, and end: then without a title. */
type Mark = (title: string | undefined) => void

interface Tracking {
  readonly calls: AsyncLocalStorage<HandlerCall>
  mark: Mark | undefined
}

/** On the global object: the command and the operator's project may each load a copy of this package. */
const shared: unique symbol = Symbol.for('kopf.calls') as never

function findTracking(): Tracking | undefined {
  return (globalThis as { [shared]?: Tracking })[shared]
}

/** From now on, `currentCall` knows the call. A mark that was given before stays where none is given. */
export function trackCalls(mark?: Mark): void {
  const tracking = findTracking() ?? { calls: new AsyncLocalStorage<HandlerCall>(), mark: undefined }
  tracking.mark = mark ?? tracking.mark
  ;(globalThis as { [shared]?: Tracking })[shared] = tracking
}

/** Undefined outside of handlers, and where calls are not tracked. */
export function currentCall(): HandlerCall | undefined {
  return findTracking()?.calls.getStore()
}

/** Calls the function; everything that it starts belongs to this call. */
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
