/**
 * Calls a handler: `callHandler()` makes one attempt, for all categories. The only file that calls functions of the user. A returned value or a
 * thrown error becomes an outcome; callHandler() itself rejects only for errors of the framework.
 */

import { HandlerTimeoutError, KopfError, PermanentError, TemporaryError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { ObservedCall, ObservedObject, Observer } from '../observer.ts'
import { createPatch, type Patch } from '../patching/patch.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { LogFields, Logger } from '../util/log/log.ts'
import { hideOurFrames, placeInUserCode } from '../util/log/own-frames.ts'
import { runInCall } from '../util/process/current-call.ts'
import type { SpanOutcome, Tracing } from '../util/tracing/spans.ts'
import { type Conditions, createConditions } from './args/conditions.ts'
import type { CallArgument } from './definition.ts'
import { type Handler, titleOf } from './handler.ts'
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
import { checkResult } from './results.ts'

/** Reports calls that block the event loop or never end. Implemented by watchdog.ts. */
export interface CallWatch {
  begin(call: WatchedCall): CallEnd
}

export interface WatchedCall extends Pick<CallContext, 'logger' | 'object'> {
  readonly handler: Handler
}

export interface CallEnd {
  /** The function has returned, perhaps with a promise. */
  returned(): void
  /** The promise of the function has settled. */
  settled(): void
}

/** The parts of the run that a call needs. */
export interface CallContext {
  readonly clock: Clock
  readonly logger: Logger
  readonly watch: CallWatch
  readonly defaultBackoffMs: number
  /** Undefined without a listener. */
  readonly observer: Observer | undefined
  /** Undefined for handlers whose calls have no spans. */
  readonly tracing: Tracing | undefined
  /** The object of the call, for the observer. Undefined for activities. */
  readonly object: (() => ObservedObject) | undefined
  /** Called with the outcome of each call that was not cancelled. */
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined
}

/** The earlier attempts of the handler for the same cause. */
interface AttemptStart extends Pick<Progress, 'startedMs' | 'retries' | 'repeats'> {
  /** The attempt repeats the last one before its delay has passed: it does not count for the option `retries`. */
  readonly isRepeated?: boolean
  /**
   * The monotonic time of `startedMs`, if all attempts are in this process: then a change of the system time does not use up the `timeout`.
   */
  readonly startedMonotonicMs?: number
}

/** The arguments that a call creates itself, as far as the definition of the handler names them. */
export interface OwnArgs {
  readonly param: unknown
  readonly retry?: number
  readonly started?: Date
  readonly runtime?: number
  readonly patch?: Patch<KubeObject>
  readonly conditions?: Conditions
}

export interface HandlerCallOptions {
  readonly start: AttemptStart
  /** All arguments of the function. */
  readonly args: (own: OwnArgs) => object
  /** The object as the handler sees it. Undefined for activities. */
  readonly body?: () => KubeObject
  /** The patch of the call. Default: a new one. */
  readonly patch?: Patch<KubeObject>
  /** Called with the returned value before the call counts as finished. Returns the value to use instead; if it throws, the attempt has failed. */
  readonly finish?: (result: unknown, patch: Patch<KubeObject>) => unknown
  /** Whether the error says only that the call ended because the operator cancelled it. */
  readonly isInterruption?: (error: unknown) => boolean
}

export interface CallResult {
  readonly outcome: Outcome
  /** The changes that the function has put into `patch`, even if it failed. */
  readonly patch: Patch<KubeObject>
  /** The operator has cancelled the call: the attempt does not count. */
  readonly isInterrupted: boolean
}

/** Makes one attempt of one handler. */
export function callHandler(context: CallContext, handler: Handler, call: HandlerCallOptions): Promise<CallResult> {
  const spans = context.tracing?.spans
  if (spans === undefined) return callObserved(context, handler, call)
  const traced = { id: handler.id, type: handler.type, retry: call.start.retries }
  return spans.handlerCall(traced, () => callObserved(context, handler, call), toSummary)
}

async function callObserved(context: CallContext, handler: Handler, call: HandlerCallOptions): Promise<CallResult> {
  const { observer, clock } = context
  const patch = call.patch ?? createPatch<KubeObject>()
  if (observer?.handlerStarted === undefined && observer?.handlerFinished === undefined) {
    const attempted = await attempt(context, handler, { ...call, patch })
    if (!attempted.isInterrupted) context.onOutcome?.(attempted.outcome)
    return { patch, ...attempted }
  }
  const observed: ObservedCall = {
    handler: { id: handler.id, type: handler.type },
    object: context.object?.(),
    retry: call.start.retries,
  }
  const beganMs = monotonicNow(clock)
  const onStart = () => observer.handlerStarted?.(observed)
  const attempted = await attempt(context, handler, { ...call, patch, onStart })
  if (!attempted.isInterrupted) context.onOutcome?.(attempted.outcome)
  observer.handlerFinished?.({ ...observed, durationMs: monotonicNow(clock) - beganMs, ...toSummary(attempted) })
  return { patch, ...attempted }
}

/** The outcome of a call for the observer and for its span. */
function toSummary({ outcome, isInterrupted }: Pick<CallResult, 'outcome' | 'isInterrupted'>): SpanOutcome {
  return {
    outcome: isInterrupted ? 'cancelled' : observedOutcomes[outcome.type],
    delayMs: outcome.type === 'retry' ? outcome.delayMs : undefined,
    error: outcome.type === 'done' ? outcome.ignoredError : outcome.error,
  }
}

const observedOutcomes = { done: 'succeeded', retry: 'retrying', failed: 'failed' } as const

type AttemptCall = HandlerCallOptions & { readonly patch: Patch<KubeObject>; readonly onStart?: () => void }

async function attempt(
  context: CallContext,
  handler: Handler,
  call: AttemptCall,
): Promise<Pick<CallResult, 'outcome' | 'isInterrupted'>> {
  const { logger, defaultBackoffMs } = context
  const { startedMs, retries, repeats = 0, isRepeated = false } = call.start
  const title = titleOf(handler)
  const counted = retries - repeats - (isRepeated ? 1 : 0)
  const nowMs = () => currentTime(context, call.start)
  const facts = (): HandlerAttempt => ({ handler, startedMs, retries: counted, defaultBackoffMs, nowMs: nowMs() })
  logger.debug(`${title} is invoked.`)
  const exceeded = checkLimits(facts())
  if (exceeded !== undefined) {
    logger.error(`${describeError(exceeded.error)}.`)
    return { outcome: exceeded, isInterrupted: false }
  }
  call.onStart?.()
  try {
    const result = await invokeHandler(context, handler, call.args(ownArgs(context, handler, call, nowMs())))
    const outcome = toOutcome(await finishResult(handler, call, result))
    logger[handler.info.successLevel](`${title} succeeded.`)
    return { outcome, isInterrupted: false }
  } catch (error) {
    if (call.isInterruption?.(error)) {
      logger.debug(`${title} is cancelled.`)
      return { outcome: toOutcome(undefined), isInterrupted: true }
    }
    const outcome = toErrorOutcome(error, facts())
    hideOurFrames(error, /\b(invokeHandler|runInCall)\b/)
    report(logger, title, outcome, error)
    return { outcome, isInterrupted: false }
  }
}

/** The system time, or the time of the start plus the monotonic time since then. */
function currentTime({ clock }: CallContext, { startedMs, startedMonotonicMs }: AttemptStart): number {
  return startedMonotonicMs === undefined ? clock.now() : startedMs + monotonicNow(clock) - startedMonotonicMs
}

function ownArgs({ clock }: CallContext, handler: Handler, call: AttemptCall, nowMs: number): OwnArgs {
  const { start, patch, body } = call
  const passes = (name: CallArgument) => handler.definition.args.includes(name)
  return {
    param: handler.param,
    ...(passes('retry')
      ? { retry: start.retries, started: new Date(start.startedMs), runtime: (nowMs - start.startedMs) / 1000 }
      : undefined),
    ...(passes('patch') ? { patch } : undefined),
    ...(passes('conditions') && body !== undefined
      ? { conditions: createConditions({ patch, body, clock, handler }) }
      : undefined),
  }
}

async function finishResult(handler: Handler, { finish, patch }: AttemptCall, returned: unknown): Promise<unknown> {
  const result = finish === undefined ? returned : await finish(returned, patch)
  switch (handler.definition.result) {
    case 'status':
      return checkResult(handler, patch, result)
    case 'discarded':
      return checkResult(handler, patch, undefined)
    case 'own':
      return result
  }
}

/** Contains the one line that calls a function of the user. */
async function invokeHandler({ logger, watch, object }: CallContext, handler: Handler, args: object): Promise<unknown> {
  const end = watch.begin({ handler, logger, object })
  try {
    const call = { title: titleOf(handler), handler: handler.id, logger }
    const result = runInCall(call, handler.fn as (args: object) => unknown, args)
    end.returned()
    return await result
  } finally {
    end.settled()
  }
}

/** The phrases are those of Kopf: people search their logs for them. Expected errors are logged without a stack trace. */
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

/** Errors of this package are logged without a stack trace; the line of the user that called our function is named instead. */
function fieldsOf(error: unknown): LogFields {
  return isOf(error, KopfError) ? { error, at: placeInUserCode(error) } : { error }
}

function isExpected(error: unknown): boolean {
  return isOf(error, TemporaryError) || isOf(error, PermanentError)
}

function limitOf(error: unknown): string {
  return error instanceof HandlerTimeoutError ? 'would time out' : 'would exceed its retries'
}

/** The message of JavaScript for a write to a frozen object does not say what to do instead. */
function hintFor(error: unknown): string {
  const isReadOnly =
    isOf(error, TypeError) &&
    /read.only property|not extensible|Cannot delete property|on proxy: trap returned falsish/.test(error.message)
  return isReadOnly ? ' (the object is read-only: put what should change into "patch")' : ''
}
