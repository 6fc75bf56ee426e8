/** Renders an explanation as text for a terminal, with relative times. Pure. */
import { describeDecision } from '../../../causation/describe-decision.ts'
import type {
  ExplainedChange,
  ExplainedChild,
  ExplainedReconciler,
  Explanation,
  HandlerVerdict,
  StoredProgress,
} from '../../../index.ts'
import { toJsonText } from '../../../util/json/json-text.ts'
import type { Palette } from '../../display/colours.ts'
import { printable } from '../../terminal.ts'

export interface RenderOptions {
  readonly nowMs: number
  /** The files of the operator; undefined if none was given. */
  readonly operator: string | undefined
  readonly palette: Palette
}

/** Limits of the text output; `-o json` prints everything. */
const maxChanges = 20
const maxValueLength = 60
const maxChildren = 20

const happened: Readonly<Record<Explanation['reason'], string>> = {
  create: 'It has not been handled yet: the reason is create.',
  update: 'It has changed since it was handled: the reason is update.',
  delete: 'It is being deleted, and the finalizer of this operator holds it: the reason is delete.',
  resume: 'It existed before the operator started: the reason is resume.',
  noop: 'It has not changed since it was handled: there is nothing to do.',
  free: 'It is being deleted without the finalizer of this operator: no handler is called.',
  gone: 'It has been deleted.',
}

export function renderExplanation(explanation: Explanation, options: RenderOptions): string {
  const { nowMs, palette } = options
  const { namespace, name, kind, resource, reason } = explanation
  const subject = namespace === undefined ? name : `${namespace}/${name}`
  const paragraphs = [
    [palette.bold(printable(`${kind} ${subject} (${resource})`)), ...facts(explanation, nowMs).map(printable)],
    [happened[reason], ...changes(explanation).map(printable)],
    progress(explanation, nowMs).map(printable),
    handlers(explanation, options),
    ...explanation.reconcilers.map((one) => reconciler(one, explanation, options)),
    explanation.notes.map((note) => printable(`Note: ${note}.`)),
  ]
  return paragraphs
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')
}

function facts(explanation: Explanation, nowMs: number): string[] {
  const { created, deleting, finalizers, handled, storage, annotations } = explanation
  const names = finalizers.map(({ name, isOurs }) => (isOurs ? `${name} (this operator)` : name))
  const held = finalizers.some(({ isOurs }) => isOurs) ? 'waits for this operator' : 'does not wait for this operator'
  const states = { never: 'never', is: 'in its current state', changed: 'in a different state' }
  const rows: Array<readonly [string, string]> = [
    ['created', created === undefined ? 'unknown' : moment(created, nowMs)],
    ['deletion', deleting === undefined ? 'not requested' : `requested ${moment(deleting, nowMs)}, ${held}`],
    ['finalizers', names.length === 0 ? 'none' : names.join(', ')],
    ['last handled', `${states[handled]}; stored in ${storage.lastHandled}`],
    ['progress', `stored in ${storage.progress}`],
    ...annotations.map(({ prefix, isOurs, names: kept }): readonly [string, string] => [
      isOurs ? 'annotations' : 'of others',
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
  const path = field.length === 0 ? 'the whole object (only a digest is stored)' : field.join('.')
  if (field.length === 0) return `  ${operation} ${path}`
  const values = { add: value(current), remove: value(old), change: `${value(old)} -> ${value(current)}` }
  return `  ${operation} ${path}: ${values[operation]}`
}

function value(given: unknown): string {
  const text = toJsonText(given)
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text
}

function progress({ progress: all }: Explanation, nowMs: number): string[] {
  if (all.length === 0) return ['No progress of handlers is stored.']
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
  const since = one.started === undefined ? '' : `, started ${moment(one.started, nowMs)}`
  const states = {
    due: 'is due',
    waiting: `waits until ${one.delayed === undefined ? 'later' : moment(one.delayed, nowMs)}`,
    succeeded: 'has succeeded',
    failed: 'has failed permanently',
  }
  const message = one.message === undefined ? '' : `: ${one.message}`
  const children = one.subhandlers.length === 0 ? '' : ` [sub-handlers: ${one.subhandlers.join(', ')}]`
  return `${one.purpose ?? 'any reason'}: ${states[one.state]}; ${attempts}${since}${message}${children}`
}

/** The colours of verdicts: calls that happen, calls that wait, calls that do not happen, and problems. */
const verdictColours: Readonly<Record<HandlerVerdict['verdict'], keyof Palette>> = {
  now: 'green',
  runs: 'green',
  later: 'yellow',
  done: 'dim',
  no: 'dim',
  unclear: 'red',
}

function handlers({ handlers: all, decision }: Explanation, { nowMs, operator, palette }: RenderOptions): string[] {
  if (operator === undefined) {
    return ['Name the file of the operator with --file to see why each of its handlers is called or not.']
  }
  if (all.length === 0) return [printable(`${operator} has no handlers for this resource.`)]
  const rows = all.map((one) => [one.verdict, `${one.kind} "${one.id}"`, describeVerdict(one, nowMs)] as const)
  const width = Math.max(...rows.map(([, title]) => title.length))
  return [
    `Decision: ${describeDecision(decision)}.`,
    printable(`Handlers of ${operator}:`),
    ...rows.map(([verdict, title, why]) => {
      const paint = palette[verdictColours[verdict]]
      return `  ${paint(verdict.padEnd(8))} ${printable(`${title.padEnd(width)}  ${why}`)}`
    }),
  ]
}

function reconciler(one: ExplainedReconciler, { childrenApplied }: Explanation, options: RenderOptions): string[] {
  const { nowMs } = options
  const { id, owns, lastApplied, children = [] } = one
  const applied =
    lastApplied === undefined ? 'no applied child exists' : `last change of a child: ${moment(lastApplied, nowMs)}`
  const rows: Array<readonly [string, string]> = [
    ['last run', `not recorded; ${applied}`],
    ['result', describeResult(childrenApplied, nowMs)],
    ['next run', describeNextRun(one)],
    ['children', owns.length === 0 ? 'it owns no kinds' : children.length === 0 ? 'none' : String(children.length)],
  ]
  const shown = children.slice(0, maxChildren)
  const names = shown.map(
    (child) => `${child.kind} ${child.namespace === undefined ? '' : `${child.namespace}/`}${child.name}`,
  )
  const width = Math.max(0, ...names.map(({ length }) => length))
  return [
    printable(`Reconciler "${id}":`),
    ...columns(rows, '  ').map(printable),
    ...shown.map((child, index) => describeChild(child, names[index]!.padEnd(width), options)),
    ...(children.length > maxChildren ? [`    … and ${children.length - maxChildren} more`] : []),
  ]
}

function describeResult(condition: Explanation['childrenApplied'], nowMs: number): string {
  if (condition === undefined) return 'no problem of children is recorded; errors of the function are not recorded'
  const { status, reason, message, since } = condition
  return `ChildrenApplied is ${status} (${reason}) since ${moment(since, nowMs)}${message === '' ? '' : `: ${message}`}`
}

function describeNextRun({ owns, watches, resync }: ExplainedReconciler): string {
  const what = [
    'the object',
    ...owns.map((kind) => `one of its ${kind}`),
    ...watches.map((kind) => `one of the ${kind}`),
  ]
  const periodic = resync === undefined ? '' : `, and at the latest ${length(resync * 1000)} after the last one`
  return `when the operator starts or ${what.join(', ')} changes${periodic}; the time is not recorded`
}

function describeChild(child: ExplainedChild, name: string, { nowMs, palette }: RenderOptions): string {
  const { isReady, deleting, applied, foreign } = child
  const [state, colour] =
    deleting !== undefined
      ? (['deleting', 'yellow'] as const)
      : foreign.length > 0
        ? (['changed', 'yellow'] as const)
        : isReady
          ? (['ready', 'green'] as const)
          : (['not ready', 'yellow'] as const)
  const when = applied === undefined ? 'not applied by this operator' : `applied ${moment(applied, nowMs)}`
  const others = foreign.map(
    ({ manager, time, fields }) => `${manager} has written ${fields.join(', ')} ${moment(time, nowMs)}`,
  )
  const more = others.length === 0 ? '' : `; since then ${others.join('; ')}${isReady ? '' : '; not ready'}`
  return `    ${palette[colour](state.padEnd(9))} ${printable(`${name}  ${when}${more}`)}`
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
