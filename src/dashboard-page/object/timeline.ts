/**
 * Prepares the journal of an object for its timeline: each call of a handler is one entry, entries that belong together are one group, and
 * entries that say little can be hidden. Pure.
 */
import type { JournalEntry } from '../../dashboard/protocol.ts'

export interface TimelineGroup {
  /** The id of the first entry. */
  readonly id: number
  readonly atMs: number
  /** What began the group. */
  readonly title: string
  /** Oldest first. */
  readonly entries: readonly JournalEntry[]
  /** Whether the group has an error. */
  readonly hasErrors: boolean
}

export interface TimelineOptions {
  readonly isNewestFirst: boolean
  /** Hides entries without a change, an error or an effect. */
  readonly isBrief: boolean
}

/** Entries further apart belong to different groups, unless a handler runs between them. */
const pauseMs = 1000

export function groupTimeline(journal: readonly JournalEntry[], options: TimelineOptions): readonly TimelineGroup[] {
  const entries = mergeCalls(journal)
  const shown = options.isBrief ? entries.filter(isImportant) : entries
  const groups = toGroups(shown)
  return options.isNewestFirst ? groups.toReversed() : groups
}

/** The beginning and the end of a call are one entry, at the time of the beginning. */
function mergeCalls(journal: readonly JournalEntry[]): JournalEntry[] {
  const merged: JournalEntry[] = []
  const running = new Map<string, number>()
  for (const entry of journal) {
    if (entry.type !== 'handler') {
      merged.push(entry)
      continue
    }
    const key = `${entry.handlerType} ${entry.handler} ${entry.retry}`
    const index = running.get(key)
    if (entry.outcome === 'running') {
      running.set(key, merged.push(entry) - 1)
    } else if (index === undefined) {
      merged.push(entry)
    } else {
      const { id, atMs } = merged[index]!
      merged[index] = { ...entry, id, atMs }
      running.delete(key)
    }
  }
  return merged
}

/** Decisions to do nothing, repeated states and ticks of timers are what most entries of a calm object are. */
function isImportant(entry: JournalEntry): boolean {
  if (entry.type === 'decision') return entry.decision !== 'ignore' && entry.decision !== 'handle'
  if (entry.type === 'state') return entry.event !== 'MODIFIED' || entry.changes.length + entry.moreChanges > 0
  if (entry.type === 'daemon') return entry.action !== 'fired'
  if (entry.type === 'handler') return entry.handlerType !== 'timer' || entry.outcome !== 'succeeded'
  return true
}

function toGroups(entries: readonly JournalEntry[]): TimelineGroup[] {
  const groups: JournalEntry[][] = []
  let endMs = Number.NEGATIVE_INFINITY
  for (const entry of entries) {
    if (groups.length === 0 || beginsGroup(entry, endMs)) groups.push([])
    groups.at(-1)!.push(entry)
    endMs = Math.max(endMs, entry.atMs + (entry.type === 'handler' ? (entry.durationMs ?? 0) : 0))
  }
  return groups.map(toGroup)
}

function beginsGroup(entry: JournalEntry, endMs: number): boolean {
  return entry.type === 'state' || entry.type === 'action' || entry.atMs - endMs > pauseMs
}

function toGroup(entries: readonly JournalEntry[]): TimelineGroup {
  const [first] = entries
  return {
    id: first!.id,
    atMs: first!.atMs,
    title: titleOf(entries),
    entries,
    hasErrors: entries.some(isFailure),
  }
}

function isFailure(entry: JournalEntry): boolean {
  if (entry.type === 'handler') return entry.outcome === 'failed' || entry.outcome === 'retrying'
  return entry.type === 'error' || (entry.type === 'event' && entry.eventType === 'Warning')
}

function titleOf(entries: readonly JournalEntry[]): string {
  const [first] = entries
  if (first!.type === 'state') return titleOfState(first!)
  if (first!.type === 'action') return `${actionWords[first!.action]} by ${first!.user}`
  const call = entries.find((entry) => entry.type === 'handler')
  if (call !== undefined)
    return call.retry > 0 ? `Attempt ${call.retry + 1} of ${call.handler}` : `Call of ${call.handler}`
  if (entries.some(({ type }) => type === 'error')) return 'Error of the operator'
  if (entries.some(({ type }) => type === 'write')) return 'Written by the operator'
  if (entries.some(({ type }) => type === 'child')) return 'Children'
  if (entries.every(({ type }) => type === 'event')) return 'Kubernetes event'
  return entries.every(({ type }) => type === 'daemon') ? 'Daemons and timers' : 'Decision'
}

const actionWords = { retry: 'Retried now', reconcile: 'Reconciled now', release: 'Finalizer removed' } as const

function titleOfState({ event, changes, moreChanges }: Extract<JournalEntry, { type: 'state' }>): string {
  if (event === 'ADDED') return 'Created'
  if (event === 'DELETED') return 'Deleted'
  if (event === null) return 'Found when the operator started'
  const [first, ...others] = changes
  const more = others.length + moreChanges
  if (first === undefined) return 'Observed again'
  return `Changed: ${first.path}${more === 0 ? '' : ` and ${more} more`}`
}
