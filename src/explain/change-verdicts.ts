/**
 * The verdicts of change handlers. Uses the same `HandlingPlan` as an operator, and explains for each other handler why it is not
 * called. Called by handler-verdicts.ts. Calls filters, but no handlers.
 */

import type { Cause } from '../causation/cause.ts'
import { type DetectedReason, detectReason } from '../causation/detect.ts'
import { HandlingPlan } from '../changes/plan.ts'
import type { Handler } from '../handlers/handler.ts'
import { isHandlerReason, type MatchContext, whyNot } from '../handlers/matching.ts'
import { checkLimits } from '../handlers/outcomes.ts'
import { isDue, isFinished, type Progress } from '../handlers/progress.ts'
import type { Clock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { formatTimestamp } from '../util/text/timestamps.ts'
import type { HandlerVerdict } from './explanation.ts'
import { checkFilters, type ExplainedObject, matchContextOf } from './filter-check.ts'

type ChangeVerdict = Omit<HandlerVerdict, 'id' | 'kind'>

export function changeVerdicts(sight: ExplainedObject, notes: string[]): ReadonlyMap<Handler, ChangeVerdict> {
  const { handlers, detected, comparison } = sight
  const cause: Cause = {
    reason: isHandlerReason(detected.reason) ? detected.reason : 'update',
    initial: detected.initial,
    ...comparison,
  }
  // In an operator, a failing filter prevents all handlers of the object. Here, the other handlers are still explained.
  const owned = handlers.change.filter((handler) => checkFilters(handler, sight).error === undefined)
  const plan = sight.hasHandlers ? prepare(sight, { cause, owned }, notes) : undefined
  return new Map(handlers.change.map((handler) => [handler, changeVerdict(sight, handler, plan)]))
}

/**
 * Builds the plan in the same order as an operator: first the cause and the stored records, then handlers that finished on an
 * earlier state.
 */
function prepare(
  sight: ExplainedObject,
  { cause, owned }: { readonly cause: Cause; readonly owned: readonly Handler[] },
  notes: string[],
): HandlingPlan | undefined {
  const { reason } = sight.detected
  if (reason === 'free' || reason === 'gone') return undefined
  const plan = new HandlingPlan({
    cause,
    body: sight.body,
    owned,
    matchContextOf: (other) => matchContextOf(sight, other),
    settings: sight.settings,
    clock: stillClock(sight.nowMs),
    logger: noting(notes),
    remembered: undefined,
  })
  const occasion = isHandlerReason(reason) ? reason : 'noop'
  plan.prepare(occasion)
  if (plan.due().length === 0 && plan.state.isDone && !plan.state.isEmpty) plan.reopen(occasion)
  return plan
}

function changeVerdict(sight: ExplainedObject, handler: Handler, plan: HandlingPlan | undefined): ChangeVerdict {
  const { error } = checkFilters(handler, sight)
  if (error !== undefined) return { verdict: 'unclear', why: error }
  const why = whyNot(handler, matchContextOf(sight, { ...sight.detected, ...sight.comparison }))
  const progress = plan?.state.isActive(handler.id) ? plan.state.get(handler.id) : undefined
  if (plan !== undefined && progress !== undefined) {
    const isRest = progress.seen !== undefined && !isFinished(progress)
    if (isRest ? isChosen(plan, handler) : why === undefined) return fromProgress(sight, handler, progress)
    if (why === undefined) return { verdict: 'done', why: 'It has finished; only what has changed since is still told' }
  }
  return handler.initial ? resumeVerdict(sight, handler) : { verdict: 'no', why: refusal(sight, handler, why) }
}

/** Whether this registration is the one that is called, if several are registered with the same id. */
function isChosen(plan: HandlingPlan, handler: Handler): boolean {
  return plan.due(undefined, [handler]).length === 0 || plan.due().includes(handler)
}

function fromProgress({ nowMs }: ExplainedObject, handler: Handler, progress: Progress): ChangeVerdict {
  const { purpose = 'any reason', retries, message, seen, delayedMs, startedMs } = progress
  if (isFinished(progress)) {
    const how = progress.success ? 'It has succeeded' : `It has failed for good${said(message)}`
    return { verdict: 'done', why: `${how}; others are waited for` }
  }
  const usedUp = checkLimits({ handler, startedMs, nowMs, retries, defaultBackoffMs: 0 })
  if (usedUp !== undefined) return { verdict: 'done', why: `It is given up: ${describeError(usedUp.error)}` }
  const what = seen === undefined ? purpose : 'what has changed since it finished'
  if (isDue(progress, nowMs)) {
    return { verdict: 'now', why: `It is called for ${what}${retries > 0 ? `: attempt ${retries + 1}` : ''}` }
  }
  return {
    verdict: 'later',
    why: `It is called again for ${what}: ${retries} ${retries === 1 ? 'attempt has' : 'attempts have'} failed${said(message)}`,
    at: formatTimestamp(delayedMs!),
  }
}

function said(message: string | undefined): string {
  return message === undefined ? '' : ` (${message})`
}

/** The verdict of a resume handler: it is called for objects that exist when the operator starts. */
function resumeVerdict(sight: ExplainedObject, handler: Handler): ChangeVerdict {
  const atStart = detectFor(sight, true)
  const why = whyNot(handler, matchContextOf(sight, { ...atStart, ...sight.comparison }))
  if (why === undefined) return { verdict: 'later', why: 'It is called when the operator is started' }
  if (atStart.reason === 'create') {
    return { verdict: 'no', why: 'It is for objects that were handled before, and this one is to be created first' }
  }
  return { verdict: 'no', why: refusal(sight, handler, why) }
}

/**
 * Explains why the handler is not called. A filter mismatch is more helpful than the fact that nothing has changed, so it comes
 * first.
 */
function refusal(sight: ExplainedObject, handler: Handler, why: string | undefined): string {
  const { reason } = sight.detected
  const { resource, body, args } = sight
  const object: MatchContext = { resource, body, args }
  const always = whyNot(handler, object)
  if (always !== undefined) return always
  if (reason === 'noop') return 'Nothing has changed since the object was handled'
  if (reason === 'free') return 'The object is being deleted, and our finalizer is not on it: nobody waits for us'
  return why ?? 'It is not its turn'
}

export function detectFor({ deleting, hasFinalizer, comparison }: DetectionBase, initial: boolean): DetectedReason {
  const { old, diff } = deleting ? { old: undefined, diff: [] } : comparison
  return detectReason({ deleting, blocked: hasFinalizer, old, diff, initial })
}

type DetectionBase = Pick<ExplainedObject, 'deleting' | 'hasFinalizer' | 'comparison'>

function stillClock(nowMs: number): Clock {
  return { now: () => nowMs, sleep: () => Promise.resolve() }
}

/** A logger that collects the messages of the plan as notes. */
function noting(notes: string[]): Logger {
  const note = (message: string): void => void notes.push(message)
  return { debug: () => {}, info: note, warn: note, error: note }
}
