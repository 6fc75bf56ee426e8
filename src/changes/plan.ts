/**
 * Decides which handlers are called in one handling of one object, and for which cause: from the records on the object, the cause and the filters.
 * All functions are pure: they return a new state. cycle.ts executes the plan; `kopf explain` prints the same plan.
 *
 * A handler that finished on an older essence, while other handlers had to be retried, is called once more for the changes since then, as an update;
 * only then does the object count as handled. Kopf marks the object as handled at once, and such a handler misses the changes.
 */

import type { Cause, HandlerReason } from '../causation/cause.ts'
import type { ChangeHandler } from '../handlers/handler.ts'
import { type MatchContext, selectHandlers } from '../handlers/matching.ts'
import { isDue, isFinished, type Progress, startProgress } from '../handlers/progress.ts'
import type { CallHistory } from './cycle-calls.ts'
import {
  emptyState,
  findSuperseded,
  type HandlingState,
  type OutcomeCounts,
  progressOf,
  withoutSuperseded,
  withProgress,
  withRecord,
  withSelected,
} from './handling-state.ts'
import type { SeenStates } from './seen-states.ts'

/** The facts that a plan depends on. */
export interface PlanInput {
  readonly cause: Cause
  /** All change handlers of the resource. Their records belong to this operator. */
  readonly owned: readonly ChangeHandler[]
  /** The object and the cause that filters are compared with. */
  readonly matchContextOf: (cause: Cause) => MatchContext
  readonly seenStates: SeenStates
  /** Reads the record of a handler from the object. */
  readonly read: (id: string) => Progress | undefined
  /** Whether the id is that of a step, which has no handler. */
  readonly isStep: (id: string) => boolean
  /** The records are known from the last cycle of this process: the object was resumed before. */
  readonly isRemembered: boolean
  readonly now: () => number
}

export interface Plan {
  readonly state: HandlingState
  /** Handlers that were started for another reason, which this one supersedes. */
  readonly superseded: ReadonlyMap<HandlerReason, OutcomeCounts>
}

/** The reason of a cycle. `noop`: the object has not changed since it was handled, and only unfinished handlers of earlier cycles are called. */
export type CycleReason = HandlerReason | 'noop'

/** The records of all owned handlers, before any of them is selected. */
export function readState({ owned, read }: Pick<PlanInput, 'owned' | 'read'>): HandlingState {
  return owned.reduce((state, { id }) => loadRecord(state, id, read), emptyState)
}

function loadRecord(state: HandlingState, id: string, read: PlanInput['read']): HandlingState {
  if (state.entries.has(id)) return state
  const progress = read(id)
  return progress === undefined ? state : withRecord(state, id, progress)
}

export function plan(initial: HandlingState, input: PlanInput, reason: CycleReason): Plan {
  let state = initial
  const superseded = reason === 'noop' ? new Map() : findSuperseded(state, reason)
  if (reason !== 'noop') {
    const matching = selectHandlers(input.owned, input.matchContextOf(input.cause))
    state = matching.reduce((next, handler) => selectHandler(next, input, handler, reason), state)
  }
  if (reason !== 'delete') state = loadOrphans(state, input)
  if (reason !== 'noop') state = withoutSuperseded(state, reason)
  if (reason !== 'delete') state = resumeRests(state, input)
  return { state, superseded }
}

/** Adds handlers that match the object only as earlier handlers of the cycle have changed it. */
export function selectMore(
  initial: HandlingState,
  input: PlanInput,
  {
    reason,
    context,
    calls,
  }: { readonly reason: HandlerReason; readonly context: MatchContext; readonly calls: CallHistory },
): HandlingState {
  return selectHandlers(input.owned, context).reduce((state, handler) => {
    if (state.selected.has(handler.id) || calls.wasCalled(handler.id)) return state
    return selectHandler(state, input, handler, reason)
  }, initial)
}

/** The handlers to call now: not called in this cycle and not delayed, or due for a repetition. */
export function dueHandlers(
  state: HandlingState,
  { calls, nowMs, among = state.selected.values() }: DueOptions,
): ChangeHandler[] {
  return [...among].filter(({ id }) => {
    const progress = progressOf(state, id)
    if (progress === undefined || isFinished(progress)) return false
    return calls.wasCalled(id) ? calls.isRepeatDue(id) : isDue(progress, nowMs)
  })
}

export interface DueOptions {
  readonly calls: CallHistory
  readonly nowMs: number
  /** Default: all selected handlers. */
  readonly among?: Iterable<ChangeHandler>
}

/** The cause for which the handler is called: that of the cycle, or the changes since the state that the handler has seen. */
export function causeOf(state: HandlingState, { cause, seenStates }: PlanInput, id: string): Cause {
  const seen = progressOf(state, id)?.seen
  return seen === undefined ? cause : seenStates.restSince(seen)
}

function selectHandler(
  state: HandlingState,
  input: PlanInput,
  handler: ChangeHandler,
  reason: HandlerReason,
): HandlingState {
  const resumed = resume(progressOf(state, handler.id), reason, input.now())
  return withSelected(state, handler, restartForResume(handler.id, resumed, input))
}

/** Continues from the record, unless the handler finished for another reason. */
function resume(progress: Progress | undefined, reason: HandlerReason, nowMs: number): Progress {
  if (progress === undefined) return startProgress(reason, nowMs)
  if (reason === 'delete' && progress.purpose !== 'delete') {
    // A handler that finished for the creation must still be called for the deletion.
    const isRestarted = isFinished(progress) || progress.seen !== undefined
    return isRestarted ? restart(progress, { reason, nowMs }) : { ...progress, purpose: reason }
  }
  if (progress.seen !== undefined || progress.purpose === reason) return progress
  return { ...progress, purpose: reason }
}

/** A resume handler that finished in another process is called again in this one. */
function restartForResume(id: string, progress: Progress, input: PlanInput): Progress {
  const { owned, cause, matchContextOf, isRemembered, now } = input
  if (!cause.initial || isRemembered || !isFinished(progress)) return progress
  const resuming = owned.filter((handler) => handler.initial && handler.id === id)
  const isMatching = resuming.length > 0 && selectHandlers(resuming, matchContextOf(cause)).length > 0
  return isMatching ? restart(progress, { reason: cause.reason, nowMs: now() }) : progress
}

/** Keeps the ids of sub-handlers: their records are purged with the record of the handler. */
function restart(
  progress: Progress | undefined,
  { reason, nowMs, seen }: { readonly reason: HandlerReason; readonly nowMs: number; readonly seen?: string },
): Progress {
  return { ...startProgress(reason, nowMs, seen), subrefs: progress?.subrefs ?? [] }
}

/** Selects handlers again that were being called for the rest of a change when the last cycle ended. */
function resumeRests(initial: HandlingState, input: PlanInput): HandlingState {
  const { owned, cause, matchContextOf, seenStates, now } = input
  let state = initial
  for (const { id } of owned) {
    const progress = progressOf(state, id)
    if (progress?.seen === undefined || isFinished(progress)) continue
    const rest = seenStates.restSince(progress.seen)
    const handler = selectHandlers(owned, matchContextOf(rest)).find((one) => one.id === id)
    if (handler !== undefined) {
      state = withSelected(state, handler, progress)
    } else if (progress.stoppedMs === undefined && state.selected.has(id)) {
      // The handler never finished on the state that its record names: the whole change is new for it.
      state = withProgress(state, id, restart(progress, { reason: cause.reason, nowMs: now() }))
    } else {
      state = withProgress(state, id, { ...progress, success: true, seen: seenStates.current })
    }
  }
  return state
}

/** Loads the records of sub-handlers whose parents are not called: the states that they have seen are in their own records. */
function loadOrphans(initial: HandlingState, { read, isStep }: PlanInput): HandlingState {
  let state = initial
  for (const [id, { progress }] of initial.entries.entries()) {
    if (initial.selected.has(id) || progress.seen !== undefined) continue
    for (const child of progress.subrefs) if (!isStep(child)) state = loadRecord(state, child, read)
  }
  return state
}

export interface Reopened {
  readonly state: HandlingState
  /** Ids of handlers that are called for the rest of a change. */
  readonly ids: readonly string[]
}

/** Selects finished handlers that have not seen the newest essence and match the changes since the essence that they have seen. */
export function reopen(
  initial: HandlingState,
  input: PlanInput,
  { reason, calls }: { readonly reason: CycleReason; readonly calls: CallHistory },
): Reopened {
  if (reason === 'delete') return { state: initial, ids: [] }
  const { owned, matchContextOf, seenStates } = input
  let state = initial
  const ids: string[] = []
  const matching = new Map<Cause, readonly ChangeHandler[]>()
  for (const [index, digest] of digestsBehind(state, input, calls).entries()) {
    const rest = seenStates.restSince(digest)
    const handlers = matching.get(rest) ?? selectHandlers(owned, matchContextOf(rest))
    matching.set(rest, handlers)
    for (const handler of handlers) {
      const reopened = reopenHandler(state, input, { handler, digest, isOldest: index === 0 })
      if (reopened === undefined || calls.wasCalled(handler.id)) continue
      state = withSelected(state, handler, reopened)
      ids.push(handler.id)
    }
    state = markSeen(state, input, digest)
  }
  return { state, ids }
}

/** Undefined if the handler is not called for the changes since the digest. */
function reopenHandler(
  state: HandlingState,
  { now }: PlanInput,
  {
    handler,
    digest,
    isOldest,
  }: { readonly handler: ChangeHandler; readonly digest: string; readonly isOldest: boolean },
): Progress | undefined {
  const progress = progressOf(state, handler.id)
  // A handler without a finished call is called for everything since the oldest seen state: it matched only now, or its own change was reverted.
  const isAbandoned = progress !== undefined && !isFinished(progress) && !state.selected.has(handler.id)
  if (progress === undefined || (isAbandoned && progress.retries > 0)) {
    if (!isOldest) return undefined
    return { ...restart(progress, { reason: 'update', nowMs: now(), seen: digest }), stoppedMs: undefined }
  }
  if (!isFinished(progress) || progress.seen !== digest) return undefined
  return { ...restart(progress, { reason: 'update', nowMs: now(), seen: digest }), stoppedMs: progress.stoppedMs }
}

/** Registered handlers that have seen the digest and need no further call count as up to date. Their sub-handlers follow them. */
function markSeen(initial: HandlingState, { owned, seenStates }: PlanInput, digest: string): HandlingState {
  let state = initial
  for (const { id } of owned) {
    const progress = progressOf(state, id)
    if (progress === undefined || !isFinished(progress) || progress.seen !== digest) continue
    state = withProgress(state, id, { ...progress, seen: seenStates.current })
  }
  return state
}

/** The digests of essences that finished handlers have seen, other than the current one; the oldest first. */
function digestsBehind({ entries }: HandlingState, { seenStates }: PlanInput, calls: CallHistory): string[] {
  const behind = new Map<string, number>()
  for (const [id, { progress }] of entries.entries()) {
    const { seen, stoppedMs = 0 } = progress
    if (seen === undefined || !isFinished(progress) || calls.hasFinished(id) || seen === seenStates.current) continue
    behind.set(seen, Math.min(behind.get(seen) ?? Infinity, stoppedMs))
  }
  return [...behind].sort(([, a], [, b]) => a - b).map(([digest]) => digest)
}

/** The cause for which the parent of sub-handlers is called. With `seen`, the cause is only the rest of a change. */
export interface ParentCall {
  readonly cause: Cause
  readonly seen: string | undefined
}

/** Adds a sub-handler that its running parent has declared. */
export function admitSubhandler(
  initial: HandlingState,
  input: PlanInput,
  { child, parent, calls }: { readonly child: ChangeHandler; readonly parent: ParentCall; readonly calls: CallHistory },
): HandlingState {
  const state = loadRecord(initial, child.id, input.read)
  const resumed = resume(progressOf(state, child.id), parent.cause.reason, input.now())
  const progress = catchUpSubhandler(child, resumed, { input, cause: parent.cause, calls })
  const isForRest = parent.seen !== undefined && progress.seen === undefined && !isFinished(progress)
  return withProgress(state, child.id, isForRest ? { ...progress, seen: parent.seen } : progress)
}

function catchUpSubhandler(
  child: ChangeHandler,
  progress: Progress,
  { input, cause, calls }: { readonly input: PlanInput; readonly cause: Cause; readonly calls: CallHistory },
): Progress {
  const { seenStates, matchContextOf, now } = input
  const { seen } = progress
  if (seen === undefined || !isFinished(progress) || cause.reason === 'delete' || seen === seenStates.current)
    return progress
  if (calls.wasCalled(child.id)) return progress
  const rest = seenStates.restSince(seen)
  const isConcerned = rest.diff.length > 0 && selectHandlers([child], matchContextOf(rest)).length > 0
  return isConcerned
    ? restart(progress, { reason: 'update', nowMs: now(), seen })
    : { ...progress, seen: seenStates.current }
}
