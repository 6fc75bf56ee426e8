/** Calling user code: the only file that does. Whatever comes back, or does not, is turned into an outcome. */

import { HandlerTimeoutError, KopfError, PermanentError, TemporaryError } from '../errors.ts'
import type { Clock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { LogFields, Logger } from '../util/log/log.ts'
import { hideOurFrames, placeInUserCode } from '../util/log/own-frames.ts'
import { runInCall } from '../util/process/current-call.ts'
import type { Handler } from './handler.ts'
import { handlerTypeOf, titleOf } from './handler-types.ts'
import {
  ChildrenRetry,
  checkLimits,
  type HandlerAttempt,
  isOf,
  type Outcome,
  toErrorOutcome,
  toOutcome,
} from './outcomes.ts'
import type { Progress } from './progress.ts'

/** Sees calls begin and end, to name those that block the process or never end. */
export interface CallWatch {
  /** What is returned is called when the function has come back, and again when its promise has settled. */
  begin(call: { readonly handler: Handler; readonly logger: Logger }): CallEnd
}

export interface CallEnd {
  returned(): void
  settled(): void
}

export interface InvokeOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
  readonly watch: CallWatch
  readonly defaultBackoffMs: number
}

/** What belongs to an attempt itself. */
interface RetryFacts {
  readonly retry: number
  readonly started: Date
  readonly runtime: number
}

export interface HandlerCallOptions {
  /** The arguments, as one object. */
  readonly args: (retryArgs: RetryFacts) => object
  /** What is to be done before the call counts as finished: gives the result its final form. */
  readonly finish: (result: unknown) => unknown
  /** Whether the error only says that it has ended because it was asked to. */
  readonly isInterruption?: (error: unknown) => boolean
}

/** How far the handler has come before an attempt. */
export interface AttemptStart extends Pick<Progress, 'startedMs' | 'retries' | 'repeats'> {
  /** The attempt repeats the last one before its delay has passed: it uses up none of the attempts that the option `retries` allows. */
  readonly isRepeated?: boolean
}

/** One attempt of one handler. */
export async function attemptHandler(
  options: InvokeOptions,
  handler: Handler,
  { startedMs, retries, repeats = 0, isRepeated = false }: AttemptStart,
  { args, finish, isInterruption }: HandlerCallOptions,
): Promise<Outcome> {
  const { clock, logger, defaultBackoffMs } = options
  const title = titleOf(handler)
  const counted = retries - repeats - (isRepeated ? 1 : 0)
  const facts = (): HandlerAttempt => ({ handler, startedMs, retries: counted, defaultBackoffMs, nowMs: clock.now() })
  logger.debug(`${title} is invoked.`)
  const exceeded = checkLimits(facts())
  if (exceeded !== undefined) {
    logger.error(`${describeError(exceeded.error)}.`)
    return exceeded
  }
  try {
    const runtime = (clock.now() - startedMs) / 1000
    const result = await invokeHandler(
      options,
      handler,
      args({ retry: retries, started: new Date(startedMs), runtime }),
    )
    const outcome = toOutcome(await finish(result))
    logger[handlerTypeOf(handler)?.successLevel ?? 'info'](`${title} succeeded.`)
    return outcome
  } catch (error) {
    if (isInterruption?.(error)) {
      logger.debug(`${title} is cancelled.`)
      return toOutcome(undefined)
    }
    const outcome = toErrorOutcome(error, facts())
    hideOurFrames(error, /\b(invokeHandler|runInCall)\b/)
    report(logger, title, outcome, error)
    return outcome
  }
}

/** The one line that calls a function of the user. */
async function invokeHandler({ logger, watch }: InvokeOptions, handler: Handler, args: object): Promise<unknown> {
  const end = watch.begin({ handler, logger })
  try {
    const call = { title: titleOf(handler), handler: handler.id, logger }
    const result = runInCall(call, handler.fn as (args: object) => unknown, args)
    end.returned()
    return await result
  } finally {
    end.settled()
  }
}

/** The phrases are Kopf's: people search their logs for them. Expected errors need no stack, unexpected ones do. */
function report(logger: Logger, title: string, outcome: Outcome, error: unknown): void {
  const why = `${describeError(error)}${hintFor(error)}`
  if (isOf(error, ChildrenRetry)) {
    logger.debug(`${title} has unfinished sub-handlers. Will retry soon.`)
  } else if (outcome.type === 'done') {
    logger.error(`${title} failed with an exception and will ignore it: ${why}`, fieldsOf(error))
  } else if (isExpected(error)) {
    const limited =
      outcome.type === 'failed' && outcome.error !== error ? ` but ${limitOf(outcome.error)} on the next attempt` : ''
    const manner = outcome.type === 'retry' || limited !== '' ? 'temporarily' : 'permanently'
    logger.error(`${title} failed ${manner}${limited}: ${why}`)
  } else if (outcome.type === 'retry') {
    const seconds = outcome.delayMs / 1000
    logger.error(`${title} failed with an exception and will try again in ${seconds} seconds: ${why}`, fieldsOf(error))
  } else {
    const limited = outcome.error !== error ? ` (it ${limitOf(outcome.error)} on the next attempt)` : ''
    logger.error(`${title} failed with an exception and will stop now${limited}: ${why}`, fieldsOf(error))
  }
}

/** Errors of this package are logged without a stack, so the line is named that called the client or another function of ours. */
function fieldsOf(error: unknown): LogFields {
  return isOf(error, KopfError) ? { error, at: placeInUserCode(error) } : { error }
}

function isExpected(error: unknown): boolean {
  return isOf(error, TemporaryError) || isOf(error, PermanentError)
}

function limitOf(error: unknown): string {
  return error instanceof HandlerTimeoutError ? 'would time out' : 'would exceed its retries'
}

/** The platform's words for a write to a frozen object do not say what to do instead. */
function hintFor(error: unknown): string {
  const isReadOnly =
    isOf(error, TypeError) &&
    /read.only property|not extensible|Cannot delete property|on proxy: trap returned falsish/.test(error.message)
  return isReadOnly ? ' (the object is read-only: put what should change into "patch")' : ''
}
