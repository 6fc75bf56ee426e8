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

type Calls = AsyncLocalStorage<HandlerCall>

/** On the global object: the command and the operator's project may each load a copy of this package. */
const shared: unique symbol = Symbol.for('kopf.calls') as never

function findCalls(): Calls | undefined {
  return (globalThis as { [shared]?: Calls })[shared]
}

/** From now on, `currentCall` knows the call. Has no effect when it is called again. */
export function trackCalls(): void {
  ;(globalThis as { [shared]?: Calls })[shared] ??= new AsyncLocalStorage()
}

/** Undefined outside of handlers, and where calls are not tracked. */
export function currentCall(): HandlerCall | undefined {
  return findCalls()?.getStore()
}

/** Calls the function; everything that it starts belongs to this call. */
export function runInCall<A>(call: HandlerCall, fn: (args: A) => unknown, args: A): unknown {
  const calls = findCalls()
  return calls === undefined ? fn(args) : calls.run(call, fn, args)
}
