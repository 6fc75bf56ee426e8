/**
 * A call of a handler, as a test with `runHandler` of kopf/testing. The object is that of the time of the call: its present state with the later changes of
 * the journal undone, as far as the journal has the values. Pure.
 */
import type { FieldChange, JournalEntry, ObjectRef, ObjectView } from '../../dashboard/protocol.ts'

export type CallEntry = Extract<JournalEntry, { type: 'handler' }>

export function writeTest(view: ObjectView, call: CallEntry): string {
  const { object, body, timeline } = view
  const past =
    body === undefined
      ? undefined
      : undoChanges(
          body,
          timeline.filter(({ id }) => id > call.id),
        )
  const change = call.handlerType === 'update' || call.handlerType === 'field' ? findChange(timeline, call) : undefined
  const old = past === undefined || change === undefined ? undefined : findOld(past.body, change.changes)
  const missing = [...(past?.missing ?? []), ...(old?.missing ?? []).map((path) => `${path} (old)`)]
  const options = [
    `id: ${quote(call.handler)},`,
    `kind: ${quote(call.handlerType)},`,
    ...(call.retry > 0 ? [`retry: ${call.retry},`] : []),
    ...(past === undefined ? partsOf(object) : [`body: ${toCode(past.body)},`]),
    ...(old === undefined ? [] : [`old: ${toCode(old.body)},`]),
  ]
  return [
    "import assert from 'node:assert/strict'",
    "import { test } from 'node:test'",
    "import { runHandler } from 'kopf/testing'",
    "import kopf from './operator.ts'",
    '',
    ...missing.map((path) => `// Not in the journal as a whole: ${toComment(path)}`),
    `test(${quote(titleOf(call, object))}, async () => {`,
    '  const { outcome } = await runHandler(kopf, {',
    ...options.map((line) => indent(line, 4)),
    '  })',
    `  assert.equal(outcome.type, ${quote(outcomes[call.outcome])})`,
    ...(call.error === undefined ? [] : [`  // ${toComment(call.error)}`]),
    '})',
    '',
  ].join('\n')
}

const outcomes: Readonly<Record<CallEntry['outcome'], string>> = {
  running: 'done',
  succeeded: 'done',
  cancelled: 'done',
  retrying: 'retry',
  failed: 'failed',
}

const promises: Readonly<Record<CallEntry['outcome'], string>> = {
  running: 'runs',
  succeeded: 'succeeds',
  cancelled: 'is cancelled',
  retrying: 'is retried',
  failed: 'fails',
}

function titleOf({ handler, retry, outcome }: CallEntry, { name }: ObjectRef): string {
  return `${handler} ${promises[outcome]} for ${name}${retry === 0 ? '' : ` at attempt ${retry + 1}`}`
}

function partsOf({ name, namespace }: ObjectRef): string[] {
  const known = [`name: ${quote(name)},`, ...(namespace === undefined ? [] : [`namespace: ${quote(namespace)},`])]
  return [...known, '// You may not get the object: add its spec here.']
}

/** The change that led to the call: the last observed state before it with changes. */
function findChange(timeline: readonly JournalEntry[], call: CallEntry) {
  return timeline.findLast(
    (entry): entry is Extract<JournalEntry, { type: 'state' }> =>
      entry.id < call.id && entry.type === 'state' && entry.changes.length > 0,
  )
}

type PastFields = Record<string, unknown>

interface PastState {
  readonly body: PastFields
  /** Paths of values that the journal has not, or not as a whole. */
  readonly missing: readonly string[]
}

function undoChanges(body: unknown, later: readonly JournalEntry[]): PastState {
  const past = withoutNoise(structuredClone(body) as PastFields)
  const missing: string[] = []
  for (const entry of later.toReversed()) {
    if (entry.type !== 'state' && entry.type !== 'write') continue
    for (const change of entry.changes.toReversed()) if (!undo(past, change)) missing.push(change.path)
    if (entry.moreChanges > 0) missing.push(`${entry.moreChanges} more changed fields`)
  }
  return { body: past, missing: [...new Set(missing)] }
}

/** PastFields that a handler does not read, and that make the test long. */
function withoutNoise(body: PastFields): PastFields {
  const metadata = body['metadata'] as PastFields | undefined
  for (const name of ['managedFields', 'resourceVersion', 'generation', 'selfLink']) delete metadata?.[name]
  const annotations = (metadata?.['annotations'] ?? {}) as PastFields
  // The operator does not send JSON in annotations, such as the last handled state and the progress of handlers.
  for (const [name, value] of Object.entries(annotations))
    if (/^\[JSON, \d+/.test(String(value))) delete annotations[name]
  if (metadata !== undefined && Object.keys(annotations).length === 0) delete metadata['annotations']
  return body
}

/** Only the fields that were different before, as the option `old` needs them. */
function findOld(body: PastFields, changes: readonly FieldChange[]): PastState {
  const old = structuredClone(body)
  const missing = changes.filter((change) => !undo(old, change)).map(({ path }) => path)
  const tops = new Set(changes.map(({ path }) => String(parsePath(path)?.[0])).filter((key) => key in old))
  return { body: Object.fromEntries([...tops].map((key) => [key, old[key]])), missing }
}

/** Returns whether the old value is known and was put into its place. */
function undo(body: PastFields, { operation, path, old }: FieldChange): boolean {
  const keys = parsePath(path)
  if (keys === undefined) return false
  const parent = keys.slice(0, -1).reduce<unknown>(memberOf, body)
  if (typeof parent !== 'object' || parent === null) return false
  const key = keyIn(parent, keys.at(-1)!)
  if (operation === 'add') {
    if (Array.isArray(parent)) parent.splice(Number(key), 1)
    else Reflect.deleteProperty(parent, key)
    return true
  }
  const value = parseValue(old)
  if (value === undefined) return false
  Object.defineProperty(parent, key, { value, enumerable: true, writable: true, configurable: true })
  return true
}

/** Values are JSON, cut at 200 characters: a cut or concealed value is unknown. */
function parseValue(text: string | undefined): unknown {
  try {
    return text === undefined || text.includes('[concealed]') || text.includes('…') ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** `spec.users[alice].roles[0]`, `metadata.annotations["a.b/c"]`; undefined if the path was cut. */
export function parsePath(path: string): string[] | undefined {
  if (path.includes('…')) return undefined
  const parts = [...path.matchAll(/\["(.*?)"\](?=[.[]|$)|\[([^\]]*)\]|\.?([\w-]+)/g)]
  const isComplete = parts.reduce((length, [text]) => length + text.length, 0) === path.length
  return isComplete && parts.length > 0 ? parts.map(([, quoted, item, key]) => quoted ?? item ?? key!) : undefined
}

function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const found = keyIn(value, key)
  return Object.hasOwn(value, found) ? Reflect.get(value, found) : undefined
}

/** Items of lists are named by their field `name` or `type`, or by their position. */
function keyIn(value: object, key: string): string {
  if (!Array.isArray(value)) return key
  const index = value.findIndex((item) => item?.name === key || item?.type === key)
  return index === -1 ? key : String(index)
}

function toCode(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? 'undefined'
  return text
    .replaceAll(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, '$1$2:')
    .replaceAll(/(?<=^\s*|: )"([^"\\'\n]*)"(?=,?$)/gm, "'$1'")
}

/** Texts come from objects and errors: all but plain ones are written with the escapes of JSON. */
function quote(text: string): string {
  return /^[\w ./:@-]*$/.test(text) ? `'${text}'` : JSON.stringify(text)
}

/** A comment must not end before the line does: JavaScript has four characters that end a line. */
function toComment(text: string): string {
  return text.split(/[\n\r\u2028\u2029]/)[0]!.slice(0, 200)
}

function indent(text: string, spaces: number): string {
  return text.replaceAll(/^/gm, ' '.repeat(spaces))
}
