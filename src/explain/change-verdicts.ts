/**
 * Tells which change handlers are called for an object in its current state, and why the others are not: by the plan of changes/plan.ts, which
 * a running operator executes. Called by handler-verdicts.ts. Calls filters, but no handlers.
 */

import type { Cause } from '../causation/cause.ts'
import { type DetectedReason, detectReason } from '../causation/detect.ts'
import { describeSuperseded } from '../changes/cycle.ts'
import { noCalls } from '../changes/cycle-calls.ts'
import { type HandlingState, isActive, isDone, progressOf } from '../changes/handling-state.ts'
import { dueHandlers, type PlanInput, plan, readState, reopen } from '../changes/plan.ts'
import { SeenStates } from '../changes/seen-states.ts'
import { readProgress } from '../changes/stored-state.ts'
import type { ChangeHandler, Handler } from '../handlers/handler.ts'
import { isHandlerReason, type MatchContext, whyNot } from '../handlers/matching.ts'
import { checkLimits } from '../handlers/outcomes.ts'
import { isDue, isFinished, type Progress } from '../handlers/progress.ts'
import { StepRecords } from '../steps/step-records.ts'
import { describeError } from '../util/log/describe-error.ts'
import { formatTimestamp } from '../util/text/timestamps.ts'
import type { HandlerVerdict } from './explanation.ts'
import { checkFilters, type ExplainedObject, matchContextOf } from './filter-check.ts'

type ChangeVerdict = Omit<HandlerVerdict, 'id' | 'kind'>

export function changeVerdicts(explained: ExplainedObject, notes: string[]): ReadonlyMap<Handler, ChangeVerdict> {
  const { handlers, detected, comparison } = explained
  const cause: Cause = {
    reason: isHandlerReason(detected.reason) ? detected.reason : 'update',
    initial: detected.initial,
    ...comparison,
  }
  // In an operator, a failing filter prevents all handlers of the object. Here, the other handlers are still explained.
  const owned = handlers.change.filter((handler) => checkFilters(handler, explained).error === undefined)
  const state = explained.hasHandlers ? planCycle(explained, { cause, owned }, notes) : undefined
  return new Map(handlers.change.map((handler) => [handler, changeVerdict(explained, handler, state)]))
}

/** The plan of the first cycle, before any call: the same functions that a running operator calls. */
function planCycle(
  explained: ExplainedObject,
  { cause, owned }: { readonly cause: Cause; readonly owned: readonly ChangeHandler[] },
  notes: string[],
): HandlingState | undefined {
  const { reason: detected } = explained.detected
  if (detected === 'free' || detected === 'gone') return undefined
  const { body, nowMs } = explained
  const { progressStorage: storage, diffbaseStorage } = explained.settings.persistence
  const steps = new StepRecords(storage, nowMs)
  const input: PlanInput = {
    cause,
    owned,
    matchContextOf: (other) => matchContextOf(explained, other),
    seenStates: new SeenStates(cause, body, diffbaseStorage),
    read: (id) => readProgress({ storage, body, remembered: undefined, nowMs }, id),
    isStep: (id) => steps.isStep(id),
    isRemembered: false,
    now: () => nowMs,
  }
  const initial = readState(input)
  for (const { id } of owned) steps.read(progressOf(initial, id)?.subrefs ?? [], body, undefined)
  const reason = isHandlerReason(detected) ? detected : 'noop'
  const { state, superseded } = plan(initial, input, reason)
  notes.push(...describeSuperseded(superseded, reason))
  const isWaiting =
    dueHandlers(state, { calls: noCalls, nowMs }).length > 0 || !isDone(state) || state.entries.size === 0
  return isWaiting ? state : reopen(state, input, { reason, calls: noCalls }).state
}

function changeVerdict(
  explained: ExplainedObject,
  handler: ChangeHandler,
  state: HandlingState | undefined,
): ChangeVerdict {
  const { error } = checkFilters(handler, explained)
  if (error !== undefined) return { verdict: 'unclear', why: error }
  const why = whyNot(handler, matchContextOf(explained, { ...explained.detected, ...explained.comparison }))
  const progress = state !== undefined && isActive(state, handler.id) ? progressOf(state, handler.id) : undefined
  if (state !== undefined && progress !== undefined) {
    const isRest = progress.seen !== undefined && !isFinished(progress)
    if (isRest ? isChosen(explained, state, handler) : why === undefined)
      return fromProgress(explained, handler, progress)
    if (why === undefined) return { verdict: 'done', why: 'It has finished; it is called only for later changes' }
  }
  return handler.initial ? resumeVerdict(explained, handler) : { verdict: 'no', why: refusal(explained, handler, why) }
}

/** Of several registrations with one id, one is called for the rest of a change. */
function isChosen({ nowMs }: ExplainedObject, state: HandlingState, handler: ChangeHandler): boolean {
  const options = { calls: noCalls, nowMs }
  const isDueNow = dueHandlers(state, { ...options, among: [handler] }).length > 0
  return !isDueNow || dueHandlers(state, options).includes(handler)
}

function fromProgress({ nowMs }: ExplainedObject, handler: Handler, progress: Progress): ChangeVerdict {
  const { purpose = 'any reason', retries, message, seen, delayedMs, startedMs } = progress
  if (isFinished(progress)) {
    const how = progress.success ? 'It has succeeded' : `It has failed permanently${said(message)}`
    return { verdict: 'done', why: `${how}; other handlers have not finished` }
  }
  const usedUp = checkLimits({ handler, startedMs, nowMs, retries, defaultBackoffMs: 0 })
  if (usedUp !== undefined) return { verdict: 'done', why: `It is not called any more: ${describeError(usedUp.error)}` }
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
function resumeVerdict(explained: ExplainedObject, handler: Handler): ChangeVerdict {
  const atStart = detectFor(explained, true)
  const why = whyNot(handler, matchContextOf(explained, { ...atStart, ...explained.comparison }))
  if (why === undefined) return { verdict: 'later', why: 'It is called when the operator is started' }
  if (atStart.reason === 'create') {
    return {
      verdict: 'no',
      why: 'It is for objects that were handled before, and this one is handled as created first',
    }
  }
  return { verdict: 'no', why: refusal(explained, handler, why) }
}

/**
 * Explains why the handler is not called. A filter mismatch is more helpful than the fact that nothing has changed, so it comes
 * first.
 */
function refusal(explained: ExplainedObject, handler: Handler, why: string | undefined): string {
  const { reason } = explained.detected
  const { resource, body, args } = explained
  const object: MatchContext = { resource, body, args }
  const always = whyNot(handler, object)
  if (always !== undefined) return always
  if (reason === 'noop') return 'Nothing has changed since the object was handled'
  if (reason === 'free')
    return 'The object is being deleted, and has no finalizer of the operator: no handler is called'
  return why ?? 'Other handlers are called before it'
}

export function detectFor({ deleting, hasFinalizer, comparison }: DetectionBase, initial: boolean): DetectedReason {
  const { old, diff } = deleting ? { old: undefined, diff: [] } : comparison
  return detectReason({ deleting, blocked: hasFinalizer, old, diff, initial })
}

type DetectionBase = Pick<ExplainedObject, 'deleting' | 'hasFinalizer' | 'comparison'>
