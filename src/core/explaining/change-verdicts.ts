/**
 * Which of the handlers of changes are called for an object as it is, by the very agenda that an operator would follow; and
 * of the others, why not. Called by explain.ts. Calls filters, and nothing else of the user.
 */
import type { Clock } from '../../util/clock.ts'
import type { Logger } from '../../util/log.ts'
import { formatTimestamp } from '../../util/timestamps.ts'
import { type Detected, detectReason } from '../causation/detect.ts'
import { Agenda } from '../handling/agenda.ts'
import type { Cause } from '../handling/cause.ts'
import type { Handler } from '../handling/handler.ts'
import { checkLimits, describeError } from '../handling/outcomes.ts'
import { isDue, isFinished, type Progress } from '../handling/progress.ts'
import { isHandlerReason, type Situation, whyNot } from '../handling/select.ts'
import type { HandlerVerdict } from './explanation.ts'
import { askFilters, type Sight, situationOf } from './sight.ts'

type Verdict = Omit<HandlerVerdict, 'id' | 'kind'>

export function judgeChanges(sight: Sight, notes: string[]): ReadonlyMap<Handler, Verdict> {
  const { handlers, detected, comparison } = sight
  const cause: Cause = {
    reason: isHandlerReason(detected.reason) ? detected.reason : 'update',
    initial: detected.initial,
    ...comparison,
  }
  // One filter that fails keeps an operator from all handlers of the object; here the others can be told of.
  const owned = handlers.change.filter((handler) => askFilters(handler, sight).error === undefined)
  const agenda = sight.isOfInterest ? prepare(sight, { cause, owned }, notes) : undefined
  return new Map(handlers.change.map((handler) => [handler, judge(sight, handler, agenda)]))
}

/** In the order of an operator: what the cause and the records say, and then who is behind the others. */
function prepare(
  sight: Sight,
  { cause, owned }: { readonly cause: Cause; readonly owned: readonly Handler[] },
  notes: string[],
): Agenda | undefined {
  const { reason } = sight.detected
  if (reason === 'free' || reason === 'gone') return undefined
  const agenda = new Agenda({
    cause,
    body: sight.body,
    owned,
    situationOf: (other) => situationOf(sight, other),
    settings: sight.settings,
    clock: stillClock(sight.nowMs),
    logger: noting(notes),
    remembered: undefined,
  })
  const occasion = isHandlerReason(reason) ? reason : 'noop'
  agenda.prepare(occasion)
  if (agenda.due().length === 0 && agenda.ledger.isDone && !agenda.ledger.isEmpty) agenda.reopen(occasion)
  return agenda
}

function judge(sight: Sight, handler: Handler, agenda: Agenda | undefined): Verdict {
  const { error } = askFilters(handler, sight)
  if (error !== undefined) return { verdict: 'unclear', why: error }
  const why = whyNot(handler, situationOf(sight, { ...sight.detected, ...sight.comparison }))
  const progress = agenda?.ledger.isActive(handler.id) ? agenda.ledger.get(handler.id) : undefined
  if (agenda !== undefined && progress !== undefined) {
    const isRest = progress.seen !== undefined && !isFinished(progress)
    if (isRest ? isChosen(agenda, handler) : why === undefined) return fromProgress(sight, handler, progress)
    if (why === undefined) return { verdict: 'done', why: 'It has finished; only what has changed since is still told' }
  }
  return handler.initial ? judgeResuming(sight, handler) : { verdict: 'no', why: refusal(sight, handler, why) }
}

/** Of several registrations under one id, one is told the rest. */
function isChosen(agenda: Agenda, handler: Handler): boolean {
  return agenda.due(undefined, [handler]).length === 0 || agenda.due().includes(handler)
}

function fromProgress({ nowMs }: Sight, handler: Handler, progress: Progress): Verdict {
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

/** Those are for the time when an operator finds the object at its start. */
function judgeResuming(sight: Sight, handler: Handler): Verdict {
  const atStart = detectFor(sight, true)
  const why = whyNot(handler, situationOf(sight, { ...atStart, ...sight.comparison }))
  if (why === undefined) return { verdict: 'later', why: 'It is called when the operator is started' }
  if (atStart.reason === 'create') {
    return { verdict: 'no', why: 'It is for objects that were handled before, and this one is to be created first' }
  }
  return { verdict: 'no', why: refusal(sight, handler, why) }
}

/** That the object is none for the handler says more than that nothing has happened to it. */
function refusal(sight: Sight, handler: Handler, why: string | undefined): string {
  const { reason } = sight.detected
  const { resource, body, args } = sight
  const object: Situation = { resource, body, args }
  const always = whyNot(handler, object)
  if (always !== undefined) return always
  if (reason === 'noop') return 'Nothing has changed since the object was handled'
  if (reason === 'free') return 'The object is being deleted, and our finalizer is not on it: nobody waits for us'
  return why ?? 'It is not its turn'
}

export function detectFor({ deleting, blocked, comparison }: DetectionBase, initial: boolean): Detected {
  const { old, diff } = deleting ? { old: undefined, diff: [] } : comparison
  return detectReason({ deleting, blocked, old, diff, initial })
}

type DetectionBase = Pick<Sight, 'deleting' | 'blocked' | 'comparison'>

function stillClock(nowMs: number): Clock {
  return { now: () => nowMs, sleep: () => Promise.resolve() }
}

/** What an operator would say on the way. */
function noting(notes: string[]): Logger {
  const note = (message: string): void => void notes.push(message)
  return { debug: () => {}, info: note, warn: note, error: note }
}
