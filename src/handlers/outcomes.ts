/**
 * The outcome of one call of a handler: done, retried later, or failed permanently. invoke.ts calls it with the result or the error. Pure: the time is
 * a parameter, and nothing is logged.
 */
import { HandlerRetriesError, HandlerTimeoutError, PermanentError, TemporaryError } from '../errors.ts'
import { describeError } from '../util/log/describe-error.ts'
import { toMs } from '../util/text/duration.ts'
import type { Handler } from './handler.ts'

interface SucceededOutcome {
  readonly type: 'done'
  readonly result: unknown
  /** The error of a handler whose option `errors` is `ignored`. Undefined if the handler succeeded. */
  readonly ignoredError?: unknown
}

interface RetryOutcome {
  readonly type: 'retry'
  readonly delayMs: number
  readonly error: unknown
}

export interface FailedOutcome {
  readonly type: 'failed'
  readonly error: unknown
}

export type Outcome = SucceededOutcome | RetryOutcome | FailedOutcome

/** One attempt of a handler, and the number of earlier attempts for the same cause. */
export interface HandlerAttempt {
  readonly handler: Pick<Handler, 'id' | 'errors' | 'timeoutMs' | 'retries' | 'backoffMs'>
  /** The start of the first attempt. */
  readonly startedMs: number
  readonly nowMs: number
  /** The number of earlier attempts. */
  readonly retries: number
  readonly defaultBackoffMs: number
}

/** Thrown in a handler whose sub-handlers have not finished: the handler is called again. Not a failure. */
export class ChildrenRetry extends Error {
  readonly delayMs: number
  /** Whether a sub-handler has asked for a retry in this cycle. */
  readonly hasAsked: boolean

  constructor(delayMs: number, { hasAsked }: { readonly hasAsked: boolean }) {
    super('Sub-handlers are not finished')
    this.name = 'ChildrenRetry'
    this.delayMs = delayMs
    this.hasAsked = hasAsked
  }
}

/** The failure of a handler whose `timeout` or `retries` are used up before the call, for example while the operator was down. Undefined otherwise. */
export function checkLimits({ handler, startedMs, nowMs, retries }: HandlerAttempt): FailedOutcome | undefined {
  const runtimeMs = nowMs - startedMs
  if (handler.timeoutMs !== undefined && runtimeMs >= handler.timeoutMs) {
    const message = `Handler "${handler.id}" has timed out after ${toSeconds(runtimeMs)} seconds`
    return { type: 'failed', error: new HandlerTimeoutError(message) }
  }
  if (handler.retries !== undefined && retries >= handler.retries) {
    const message = `Handler "${handler.id}" has exceeded ${retries} retries`
    return { type: 'failed', error: new HandlerRetriesError(message) }
  }
  return undefined
}

export function toOutcome(result: unknown): SucceededOutcome {
  return { type: 'done', result }
}

/** The outcome of an attempt that threw. `nowMs` of the attempt is the time after the call. */
export function toErrorOutcome(error: unknown, attempt: HandlerAttempt): Outcome {
  const { handler } = attempt
  if (isOf(error, ChildrenRetry)) return { type: 'retry', delayMs: error.delayMs, error }
  if (isOf(error, TemporaryError)) return retryOrFail(error, delayOf(error), attempt)
  if (isOf(error, PermanentError)) return { type: 'failed', error }
  if (handler.errors === 'ignored') return { type: 'done', result: undefined, ignoredError: error }
  if (handler.errors === 'permanent') return { type: 'failed', error }
  return retryOrFail(error, handler.backoffMs ?? attempt.defaultBackoffMs, attempt)
}

/**
 * Whether the handler asked for a retry itself, with a `TemporaryError`: it may wait for a field that another handler sets. After any other error, a
 * change of the object does not cause an early retry.
 */
export function asksForRetry(outcome: Outcome): boolean {
  if (outcome.type !== 'retry') return false
  const { error } = outcome
  return isOf(error, ChildrenRetry) ? error.hasAsked : isOf(error, TemporaryError)
}

/** Fails at once if the next attempt would exceed the limits: waiting for it would change nothing. */
function retryOrFail(error: unknown, delayMs: number, { handler, startedMs, nowMs, retries }: HandlerAttempt): Outcome {
  const { timeoutMs } = handler
  const options = { cause: error }
  if (timeoutMs !== undefined && nowMs - startedMs + delayMs >= timeoutMs) {
    const limit = `its timeout of ${toSeconds(timeoutMs)} seconds`
    return { type: 'failed', error: new HandlerTimeoutError(finalError(handler, limit, error), options) }
  }
  if (handler.retries !== undefined && retries + 1 >= handler.retries) {
    const limit = `its limit of ${handler.retries} retries`
    return { type: 'failed', error: new HandlerRetriesError(finalError(handler, limit, error), options) }
  }
  return { type: 'retry', delayMs: Math.min(delayMs, maxDelayMs), error }
}

function finalError(handler: HandlerAttempt['handler'], limit: string, error: unknown): string {
  return `Handler "${handler.id}" failed, and another attempt would exceed ${limit}: ${describeError(error)}`
}

/** The delay of a `TemporaryError`. Null and negative values mean at once; an invalid duration counts as not given. */
function delayOf(error: TemporaryError): number {
  const { delay } = error
  if (delay === null || (typeof delay === 'number' && delay < 0)) return 0
  try {
    return toMs(delay)
  } catch {
    return defaultDelayMs
  }
}

/** A hundred years: the time of the next attempt must be a valid timestamp. */
const maxDelayMs = 100 * 365 * 86_400_000

const defaultDelayMs = toMs(new TemporaryError('').delay ?? 0)

/** Whether the error is an `AbortError`, with which waiting functions reject when their signal is aborted. */
export function isAbort(error: unknown): boolean {
  return (isOf(error, Error) || isOf(error, DOMException)) && (error as Error).name === 'AbortError'
}

/** Like `instanceof`, but never throws: a thrown value may be a proxy that throws on access. */
export function isOf<T>(error: unknown, type: abstract new (...args: never[]) => T): error is T {
  try {
    return error instanceof type
  } catch {
    return false
  }
}

function toSeconds(ms: number): number {
  return ms / 1000
}
