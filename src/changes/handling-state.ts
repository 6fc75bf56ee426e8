/**
 * The state of one handling of one object, as a value: how far each handler has come, and which handlers take part. plan.ts computes the first state
 * of a cycle; cycle.ts replaces the state after every call. Pure: nothing here reads the object or writes to it (stored-state.ts does).
 */
import type { HandlerReason } from '../causation/cause.ts'
import type { ChangeHandler } from '../handlers/handler.ts'
import type { Outcome } from '../handlers/outcomes.ts'
import { type AttemptFacts, isFinished, nextProgress, type Progress } from '../handlers/progress.ts'
import { PersistentMap } from '../util/persistent-map.ts'

interface HandlerEntry {
  readonly progress: Progress
  /** The handler takes part in this handling. Other records are only counted and purged. */
  readonly isActive: boolean
}

export interface HandlingState {
  /** By handler id. Sub-handlers are added when their parent declares them. */
  readonly entries: PersistentMap<HandlerEntry>
  /** The registered handlers that take part, by id. A function may be registered for several reasons with one id. */
  readonly selected: ReadonlyMap<string, ChangeHandler>
  /** Ids whose stored records are purged with the next write. */
  readonly dropped: readonly string[]
}

export const emptyState: HandlingState = { entries: PersistentMap.empty(), selected: new Map(), dropped: [] }

export function progressOf({ entries }: HandlingState, id: string): Progress | undefined {
  return entries.get(id)?.progress
}

export function isActive({ entries }: HandlingState, id: string): boolean {
  return entries.get(id)?.isActive === true
}

/** Adds the record of a handler that does not take part yet. */
export function withRecord(state: HandlingState, id: string, progress: Progress): HandlingState {
  return { ...state, entries: state.entries.with(id, { progress, isActive: false }) }
}

/** Sets the progress of a handler, which takes part from now on. */
export function withProgress(state: HandlingState, id: string, progress: Progress): HandlingState {
  return { ...state, entries: state.entries.with(id, { progress, isActive: true }) }
}

export function withSelected(state: HandlingState, handler: ChangeHandler, progress: Progress): HandlingState {
  const { id } = handler
  const selected = state.selected.get(id) === handler ? state.selected : new Map(state.selected).set(id, handler)
  return { entries: state.entries.with(id, { progress, isActive: true }), selected, dropped: state.dropped }
}

/** The state after one call of the handler. */
export function withOutcome(state: HandlingState, id: string, outcome: Outcome, facts: AttemptFacts): HandlingState {
  return withProgress(state, id, nextProgress(progressOf(state, id)!, outcome, facts))
}

/** The handler does not take part any more. Its record stays if the handler was called, and is purged with the others. */
export function withoutHandler(state: HandlingState, id: string): HandlingState {
  const entry = state.entries.get(id)
  const selected = new Map(state.selected)
  selected.delete(id)
  if (entry === undefined) return { ...state, selected }
  const entries =
    entry.progress.retries === 0
      ? state.entries.without(id)
      : state.entries.with(id, { progress: entry.progress, isActive: false })
  return { ...state, selected, entries }
}

/** Whether all handlers that take part have succeeded or failed permanently. */
export function isDone({ entries }: HandlingState): boolean {
  for (const [, { progress, isActive }] of entries.entries()) if (isActive && !isFinished(progress)) return false
  return true
}

export function hasFailed({ entries }: HandlingState): boolean {
  for (const [, { progress }] of entries.entries()) if (progress.failure) return true
  return false
}

/** When the first unfinished handler can be called; undefined if all are finished. */
export function wakeAtMs({ entries }: HandlingState, nowMs: number): number | undefined {
  let earliest: number | undefined
  for (const [, { progress, isActive }] of entries.entries()) {
    if (isActive && !isFinished(progress)) earliest = Math.min(earliest ?? Infinity, progress.delayedMs ?? nowMs)
  }
  return earliest
}

export interface OutcomeCounts {
  success: number
  failure: number
  running: number
}

/** Counts the given handlers only: Kopf does not count sub-handlers, which are a part of their parents. */
export function countOutcomes(
  { entries }: HandlingState,
  purpose: HandlerReason,
  ids: ReadonlySet<string>,
): OutcomeCounts {
  const counted = [...entries.entries()].filter(([id, { progress }]) => {
    return ids.has(id) && (progress.purpose === undefined || progress.purpose === purpose)
  })
  return count(counted.map(([, { progress }]) => progress))
}

/** The handlers that were started for another reason, which the given one supersedes; counted by that reason. */
export function findSuperseded({ entries }: HandlingState, purpose: HandlerReason): Map<HandlerReason, OutcomeCounts> {
  const others = new Map<HandlerReason, Progress[]>()
  for (const [, { progress }] of entries.entries()) {
    if (!isSuperseded(progress, purpose)) continue
    const all = others.get(progress.purpose!) ?? []
    all.push(progress)
    others.set(progress.purpose!, all)
  }
  return new Map([...others].map(([reason, all]) => [reason, count(all)]))
}

/** Drops the records of handlers that were started for another reason and do not take part now. */
export function withoutSuperseded(state: HandlingState, purpose: HandlerReason): HandlingState {
  let { entries } = state
  const dropped = [...state.dropped]
  for (const [id, { progress, isActive }] of state.entries.entries()) {
    if (!isSuperseded(progress, purpose) || isActive) continue
    entries = entries.without(id)
    dropped.push(id)
    // One by one: a hostile record may name more ids than a function call takes as arguments.
    for (const subref of progress.subrefs) dropped.push(subref)
  }
  return { ...state, entries, dropped }
}

/** A record with `seen` waits for the rest of a change and keeps its own purpose; a deletion supersedes it too. */
function isSuperseded({ purpose, seen }: Progress, current: HandlerReason): boolean {
  return purpose !== undefined && purpose !== current && (seen === undefined || current === 'delete')
}

function count(all: readonly Progress[]): OutcomeCounts {
  const counts: OutcomeCounts = { success: 0, failure: 0, running: 0 }
  for (const { success, failure } of all) {
    if (success) counts.success += 1
    else if (failure) counts.failure += 1
    else counts.running += 1
  }
  return counts
}
