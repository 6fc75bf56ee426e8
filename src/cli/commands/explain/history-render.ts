/** Renders the journal of an object as a timeline in words, for `kopf explain --history`. Pure. */
import type { FieldChange, JournalEntry, ObjectView } from '../../../dashboard/protocol.ts'
import type { Palette } from '../../display/colours.ts'
import { printable } from '../../terminal.ts'

type EntryOf<T extends JournalEntry['type']> = Extract<JournalEntry, { readonly type: T }>

export interface HistoryOptions {
  readonly nowMs: number
  readonly palette: Palette
}

export function renderHistory({ object, timeline, dropped }: ObjectView, { nowMs, palette }: HistoryOptions): string {
  const subject = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`
  const why = object.why === undefined ? '' : `: ${object.why}`
  const head = [
    palette.bold(printable(`${object.resource} ${subject}`)),
    printable(`It is in the state "${object.state}"${why}${nextAttempt(object.nextAtMs, nowMs)}.`),
    '',
  ]
  if (dropped > 0) head.push(`${count(dropped, 'earlier entry was', 'earlier entries were')} dropped.`)
  if (timeline.length === 0) head.push('The journal has no entries about it.')
  return [...head, ...timeline.flatMap((entry) => lines(entry, palette))].join('\n')
}

function nextAttempt(nextAtMs: number | undefined, nowMs: number): string {
  return nextAtMs === undefined ? '' : `; the next attempt is due ${inTime(nextAtMs - nowMs)}`
}

function lines(entry: JournalEntry, palette: Palette): string[] {
  const text = describe(entry)
  const paint = isFailure(entry) ? palette.red : (line: string) => line
  return [
    `${palette.dim(clock(entry.atMs))}  ${paint(printable(text))}`,
    ...changesOf(entry).map((line) => `${' '.repeat(16)}${printable(line)}`),
  ]
}

function isFailure(entry: JournalEntry): boolean {
  if (entry.type === 'handler') return entry.outcome === 'failed' || entry.outcome === 'retrying'
  return entry.type === 'error'
}

function describe(entry: JournalEntry): string {
  switch (entry.type) {
    case 'state':
      return describeState(entry)
    case 'decision':
      return `Decision: ${entry.why}.`
    case 'handler':
      return describeCall(entry)
    case 'write':
      return `Written${entry.only === undefined ? ` ${purposes[entry.purpose]}` : ': the finalizer'}, with ${count(entry.requests, 'request', 'requests')}.`
    case 'child':
      return describeChild(entry)
    case 'event':
      return `Event posted: ${entry.eventType} ${entry.reason}: ${entry.message}`
    case 'daemon':
      return describeDaemon(entry)
    case 'error':
      return `Error of the framework: ${entry.error}`
    case 'action':
      return `The user "${entry.user}" has asked for "${entry.action}".`
  }
}

const purposes: Readonly<Record<EntryOf<'write'>['purpose'], string>> = {
  handling: 'after the handlers',
  checkpoint: 'while a handler runs',
  background: 'for a daemon or timer',
  reconcile: 'for a reconciler',
}

function describeState({ event, resourceVersion }: EntryOf<'state'>): string {
  const version = resourceVersion === undefined ? '' : ` (resource version ${resourceVersion})`
  switch (event) {
    case 'ADDED':
      return `Created${version}.`
    case 'MODIFIED':
      return `Changed${version}.`
    case 'DELETED':
      return 'Deleted.'
    case null:
      return `Listed at the start${version}.`
  }
}

function describeCall({
  handler,
  handlerType,
  retry,
  outcome,
  durationMs,
  delayMs,
  error,
}: EntryOf<'handler'>): string {
  const title = `Handler "${handler}" (${handlerType}), attempt ${retry + 1}:`
  const time = durationMs === undefined ? '' : ` after ${length(durationMs)}`
  const why = error === undefined ? '' : `: ${error}`
  switch (outcome) {
    case 'running':
      return `${title} is running.`
    case 'succeeded':
      return `${title} has succeeded${time}${why}.`
    case 'retrying':
      return `${title} has failed${time}, and is called again ${inTime(delayMs ?? 0)}${why}.`
    case 'failed':
      return `${title} has failed permanently${time}${why}.`
    case 'cancelled':
      return `${title} was stopped with the operator${time}.`
  }
}

function describeChild({ action, child: { resource, namespace, name } }: EntryOf<'child'>): string {
  const title = `${resource} ${namespace === undefined ? name : `${namespace}/${name}`}`
  if (action === 'contention') return `Another field manager writes the same fields of the child ${title}.`
  return `Child ${action}: ${title}.`
}

function describeDaemon({ action, handler, latenessMs = 0 }: EntryOf<'daemon'>): string {
  if (action !== 'fired') return `Daemon or timer "${handler}": ${action}.`
  return `Timer "${handler}" was due${latenessMs >= 1 ? ` ${length(latenessMs)} ago` : ''}, and is called.`
}

function changesOf(entry: JournalEntry): string[] {
  if (entry.type !== 'state' && entry.type !== 'write') return []
  const { changes, moreChanges } = entry
  const more = moreChanges === 0 ? [] : [`… and ${count(moreChanges, 'other change', 'other changes')}`]
  return [...changes.map(describeChange), ...more]
}

function describeChange({ operation, path, old, new: current, by }: FieldChange): string {
  const values = operation === 'add' ? current : operation === 'remove' ? old : `${old} -> ${current}`
  const author = by === undefined ? '' : `  (by "${by}")`
  return `${operation} ${path}${values === undefined ? '' : `: ${values}`}${author}`
}

/** `12:00:05.123` UTC. */
function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23)
}

function inTime(ms: number): string {
  return ms <= 0 ? 'now' : `in ${length(ms)}`
}

const units: ReadonlyArray<readonly [string, number]> = [
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

function length(ms: number): string {
  const [unit, size] = units.find(([, unitMs]) => ms >= unitMs) ?? ['ms', 1]
  if (unit === 'ms') return `${Math.round(ms)} ms`
  return count(Math.round(ms / size), unit, `${unit}s`)
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}
