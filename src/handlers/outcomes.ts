/**
 * What follows from one call of a handler: it is done, tried again later, or has failed for good. Called by invoke.ts
 * with what came back. Pure: it is told the time, and says nothing to any log.
 */
import { HandlerRetriesError, HandlerTimeoutError, PermanentError, TemporaryError } from '../errors.ts'
import { describeError } from '../util/log/describe-error.ts'
import { toMs } from '../util/text/duration.ts'
import type { Handler } from './handler.ts'

interface SucceededOutcome {
  readonly type: 'done'
  readonly result: unknown
  /** There where the handler failed and `errors` is `ignored`. */
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

/** One call of one handler, and those before it for the same cause. */
export interface HandlerAttempt {
  readonly handler: Pick<Handler, 'id' | 'errors' | 'timeoutMs' | 'retries' | 'backoffMs'>
  /** When the first attempt was begun. */
  readonly startedMs: number
  readonly nowMs: number
  /** The attempts before this one. */
  readonly retries: number
  readonly defaultBackoffMs: number
}

/** Not a failure: the handler is called again because its sub-handlers are not finished. */
export class ChildrenRetry extends Error {
  readonly delayMs: number
  /** One of the sub-handlers has asked for a retry in this cycle. */
  readonly hasAsked: boolean

  constructor(delayMs: number, { hasAsked }: { readonly hasAsked: boolean }) {
    super('Sub-handlers are not finished')
    this.name = 'ChildrenRetry'
    this.delayMs = delayMs
    this.hasAsked = hasAsked
  }
}

/** Before a call: what was used up meanwhile, while the operator was down perhaps. Undefined where it may go on. */
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

/** `nowMs` of the attempt is the time after the call. */
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
 * Whether the handler itself wants another attempt, as one does that waits for a field. After any other error, a change of the object is
 * no reason to expect a better outcome.
 */
export function asksForRetry(outcome: Outcome): boolean {
  if (outcome.type !== 'retry') return false
  const { error } = outcome
  return isOf(error, ChildrenRetry) ? error.hasAsked : isOf(error, TemporaryError)
}

/** Looks ahead: where the next attempt would not be allowed any more, waiting for it would only be time lost. */
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

/** Null and what is in the past are for at once; what is no duration at all counts as not given. */
function delayOf(error: TemporaryError): number {
  const { delay } = error
  if (delay === null || (typeof delay === 'number' && delay < 0)) return 0
  try {
    return toMs(delay)
  } catch {
    return defaultDelayMs
  }
}

/** A hundred years: the time of the next attempt must be one that can be written down. */
const maxDelayMs = 100 * 365 * 86_400_000

const defaultDelayMs = toMs(new TemporaryError('').delay ?? 0)

/** What was waiting for a signal ends like this when it is aborted: that is no failure of one that was asked to stop. */
export function isAbort(error: unknown): boolean {
  return (isOf(error, Error) || isOf(error, DOMException)) && (error as Error).name === 'AbortError'
}

/** Whatever was thrown may be a proxy that throws when it is looked at. */
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
