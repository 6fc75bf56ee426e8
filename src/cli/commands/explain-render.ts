/** Renders an explanation as text for a terminal, with relative times. Pure. */
import type { ExplainedChange, Explanation, HandlerVerdict, StoredProgress } from '../../index.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { printable } from '../terminal.ts'

export interface RenderOptions {
  readonly nowMs: number
  /** The files of the operator; undefined if none was given. */
  readonly operator: string | undefined
}

/** Limits of the text output; `-o json` prints everything. */
const maxChanges = 20
const maxValueLength = 60

const happened: Readonly<Record<Explanation['reason'], string>> = {
  create: 'It was never handled: for handlers it is to be created.',
  update: 'It has changed since it was handled: for handlers it is to be updated.',
  delete: 'It is being deleted, and stays until the handlers for that are done.',
  resume: 'It is to be taken over.',
  noop: 'It is as it was handled last: there is nothing to do.',
  free: 'It is being deleted, and our finalizer is not on it: no handler is called.',
  gone: 'It is gone.',
}

export function renderExplanation(explanation: Explanation, { nowMs, operator }: RenderOptions): string {
  const { namespace, name, kind, resource, reason } = explanation
  const subject = namespace === undefined ? name : `${namespace}/${name}`
  const paragraphs = [
    [`${kind} ${subject} (${resource})`, ...facts(explanation, nowMs)],
    [happened[reason], ...changes(explanation)],
    progress(explanation, nowMs),
    handlers(explanation, { nowMs, operator }),
    explanation.notes.map((note) => `Note: ${note}.`),
  ]
  return paragraphs
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map(printable).join('\n'))
    .join('\n\n')
}

function facts(explanation: Explanation, nowMs: number): string[] {
  const { created, deleting, finalizers, handled, storage, annotations } = explanation
  const names = finalizers.map(({ name, isOurs }) => (isOurs ? `${name} (ours)` : name))
  const held = finalizers.some(({ isOurs }) => isOurs) ? 'held by our finalizer' : 'not held by us'
  const states = { never: 'never', is: 'as it is now', changed: 'in another state than it is in now' }
  const rows: Array<readonly [string, string]> = [
    ['created', created === undefined ? 'unknown' : moment(created, nowMs)],
    ['deletion', deleting === undefined ? 'not asked for' : `asked for ${moment(deleting, nowMs)}, ${held}`],
    ['finalizers', names.length === 0 ? 'none' : names.join(', ')],
    ['last handled', `${states[handled]}; kept in ${storage.lastHandled}`],
    ['progress', `kept in ${storage.progress}`],
    ...annotations.map(({ prefix, isOurs, names: kept }): readonly [string, string] => [
      isOurs ? 'also ours' : 'of others',
      `${prefix}/ ${kept.join(', ')}`,
    ]),
  ]
  return columns(rows, '  ')
}

function changes({ changes: all }: Explanation): string[] {
  const shown = all.slice(0, maxChanges).map(change)
  return [...shown, ...(all.length > maxChanges ? [`  … and ${all.length - maxChanges} more`] : [])]
}

function change({ operation, field, old, new: current }: ExplainedChange): string {
  const path = field.length === 0 ? 'the whole of it (only a digest was kept)' : field.join('.')
  if (field.length === 0) return `  ${operation} ${path}`
  const values = { add: value(current), remove: value(old), change: `${value(old)} -> ${value(current)}` }
  return `  ${operation} ${path}: ${values[operation]}`
}

function value(given: unknown): string {
  const text = toJsonText(given)
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text
}

function progress({ progress: all }: Explanation, nowMs: number): string[] {
  if (all.length === 0) return ['No progress of any handler is stored on it.']
  return [
    'Progress of handlers:',
    ...columns(
      all.map((one) => [one.id, describeProgress(one, nowMs)] as const),
      '  ',
    ),
  ]
}

function describeProgress(one: StoredProgress, nowMs: number): string {
  const attempts = `${one.retries} ${one.retries === 1 ? 'attempt' : 'attempts'}`
  const since = one.started === undefined ? '' : `, begun ${moment(one.started, nowMs)}`
  const states = {
    due: 'is to be called',
    waiting: `waits until ${one.delayed === undefined ? 'later' : moment(one.delayed, nowMs)}`,
    succeeded: 'has succeeded',
    failed: 'has failed for good',
  }
  const message = one.message === undefined ? '' : `: ${one.message}`
  const children = one.subhandlers.length === 0 ? '' : ` [sub-handlers: ${one.subhandlers.join(', ')}]`
  return `${one.purpose ?? 'any reason'}: ${states[one.state]}; ${attempts}${since}${message}${children}`
}

function handlers({ handlers: all, decision }: Explanation, { nowMs, operator }: RenderOptions): string[] {
  if (operator === undefined) {
    return ['Name the file of the operator with --file to see why each of its handlers is called or not.']
  }
  if (all.length === 0) return [`${operator} has no handlers for this resource.`]
  const rows = all.map((one) => [one.verdict, `${one.kind} "${one.id}"`, describeVerdict(one, nowMs)] as const)
  const width = Math.max(...rows.map(([, title]) => title.length))
  return [
    `Decision: ${describeDecision(decision)}.`,
    `Handlers of ${operator}:`,
    ...rows.map(([verdict, title, why]) => `  ${verdict.padEnd(8)} ${title.padEnd(width)}  ${why}`),
  ]
}

function describeDecision(decision: Explanation['decision']): string {
  switch (decision.type) {
    case 'add-finalizer':
      return 'add our finalizer, since a handler needs it'
    case 'remove-finalizer':
      return decision.reason === 'finished'
        ? 'remove our finalizer, since nothing holds the object any more'
        : 'remove our finalizer, since no handler needs it'
    case 'wait':
      return 'wait, since the object changes all the time'
    case 'handle':
      return decision.reason === 'noop'
        ? 'call only handlers that have not finished with earlier changes'
        : `call the handlers that are due for ${decision.reason}`
    case 'ignore':
      return ignored[decision.reason]
  }
}

const ignored: Readonly<Record<'no-handlers' | 'paused' | 'released', string>> = {
  'no-handlers': 'call no change handler, since none can match the object',
  paused: 'nothing, since the operator is paused',
  released: 'nothing, since the object is being deleted without our finalizer',
}

function describeVerdict({ why, at }: HandlerVerdict, nowMs: number): string {
  return at === undefined ? why : `${why}; at ${moment(at, nowMs)}`
}

/** `12:00:05 UTC (3 minutes ago)`, with the date if it is not today. */
function moment(text: string, nowMs: number): string {
  const ms = Date.parse(text.replace(/(\.\d{3})\d+/, '$1'))
  if (Number.isNaN(ms)) return text
  const iso = new Date(ms).toISOString()
  const isToday = iso.slice(0, 10) === new Date(nowMs).toISOString().slice(0, 10)
  const clock = isToday ? iso.slice(11, 19) : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`
  const distance = length(Math.abs(nowMs - ms))
  return `${clock} UTC (${ms > nowMs ? `in ${distance}` : `${distance} ago`})`
}

const units: ReadonlyArray<readonly [string, number]> = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

function length(ms: number): string {
  const [unit, size] = units.find(([, unitMs]) => ms >= unitMs) ?? ['second', 1000]
  const count = Math.floor(ms / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

function columns(rows: ReadonlyArray<readonly [string, string]>, indent: string): string[] {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `${indent}${name.padEnd(width)}  ${text}`)
}
