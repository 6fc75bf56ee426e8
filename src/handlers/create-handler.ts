/**
 * The one registrar: makes the record of a handler from what the user wrote, and refuses what cannot work while the
 * stack still shows where it was written. Called by the front door and, for sub-handlers, while their parent runs.
 */
import { hasStatusField } from '../kube/crds/crd.ts'
import type { ResourceLike } from '../kube/resources/resources.ts'
import { toSelector } from '../kube/resources/selectors.ts'
import { lazy } from '../util/lazy.ts'
import type {
  AdmissionSpec,
  BackgroundOptionsOf,
  ConversionSpec,
  FieldPath,
  Handler,
  HandlerFunction,
  ReconcileSpec,
} from './handler.ts'
import { type HandlerType, type HandlerTypeInfo, handlerTypeOf, handlerTypes } from './handler-types.ts'
import { IndexTable } from './index-table.ts'
import {
  checkOptions,
  checkValuePatterns,
  type Options,
  readDuration,
  readErrors,
  readExisting,
  readFieldPath,
  readFlag,
  readInitialDelay,
  readMetaPatterns,
  readOperations,
  readOwned,
  readRetries,
  readSubresource,
  readVersion,
  readWatches,
  readWhen,
  throwOptionError,
} from './options.ts'

/** `resource` is undefined for activities; `fieldPath` is for `on.field`, the others have it in their options. */
export function createHandler(
  type: HandlerType,
  resource: ResourceLike | undefined,
  options: object | undefined,
  fn: unknown,
  fieldPath?: FieldPath,
): Handler {
  const row = handlerTypes[type]
  const subject = `${/^[aeiou]/.test(type) ? 'an' : 'a'} "${type}" handler`
  const selector = row.category === 'activity' ? undefined : toSelector(resource as ResourceLike)
  const what = selector === undefined ? subject : `${subject} for ${selector}`
  if (type === 'field' && fieldPath === undefined)
    throwOptionError(what, 'the field is missing: on.field(resource, "spec.size", fn)')
  const checked = checkOptions(options, row.options, what)
  const own = checkFunction(fn, what)
  const id = readId(checked['id'], what) ?? (nameOf(own) || type)
  const field = readFieldPath(fieldPath ?? checked['field'], what)
  const conversion = row.category === 'conversion' ? readConversion(checked, what) : undefined
  return {
    ...readBehaviour(row, checked, what),
    ...readFilters(checked, field, what),
    type,
    id: completeId(id, { row, field, conversion }),
    fn: own,
    selector,
    // A schema is put into other words for it: that is for those who ask.
    observesGeneration: lazy(() => hasStatusField(resource, 'observedGeneration')),
    deleted: readFlag(checked, 'deleted', what),
    needsFinalizer: readFinalizer(row, checked, what),
    needsChange: row.needsChange,
    background: row.category === 'background' ? readBackground(type, checked, what) : undefined,
    reconciling: row.category === 'reconcile' ? readReconciling(checked, what) : undefined,
    index: row.category === 'index' ? new IndexTable() : undefined,
    admission: row.category === 'admission' ? readAdmission(checked, what) : undefined,
    conversion,
  }
}

interface IdParts {
  readonly row: HandlerTypeInfo
  readonly field: readonly string[] | undefined
  readonly conversion: ConversionSpec | undefined
}

/** With what tells apart several uses of one function; but the id of an index is its name, by which others ask for it. */
function completeId(id: string, { row, field, conversion }: IdParts): string {
  if (conversion !== undefined) return `${id}/${conversion.from}-${conversion.to}`
  return field === undefined || row.category === 'index' ? id : `${id}/${field.join('.')}`
}

/** The id is the parent's and its own; without one of its own, the name of the function. The field is not part of it. */
export function createSubhandler(
  parent: Handler,
  id: string | undefined,
  options: object | undefined,
  fn: unknown,
): Handler {
  const row = handlerTypes.subhandler
  const what = `a sub-handler of "${parent.id}"`
  if (handlerTypeOf(parent)?.category !== 'change')
    throwOptionError(what, 'only handlers of changes can have sub-handlers')
  const checked = checkOptions(options, row.options, what)
  const own = checkFunction(fn, what)
  const ownId = readId(id, what) ?? nameOf(own)
  if (ownId === '') throwOptionError(what, 'the function has no name: give it an id, subhandler("id", fn)')
  checkComparedOptions(parent, checked, what)
  return {
    ...readBehaviour(row, checked, what),
    ...readFilters(checked, readFieldPath(checked['field'], what), what),
    type: 'subhandler',
    id: `${parent.id}/${ownId}`,
    fn: own,
    selector: undefined,
    observesGeneration: parent.observesGeneration,
    deleted: false,
    needsFinalizer: false,
    needsChange: parent.needsChange,
    background: undefined,
    reconciling: undefined,
    index: undefined,
    admission: undefined,
    conversion: undefined,
  }
}

/**
 * Whether the id came from a name that a minifier may have made: it is stored on objects, and the next build
 * would have another one.
 */
export function isSuspiciousName({ id, fn }: Handler): boolean {
  const name = nameOf(fn)
  return (name.length === 1 || name.length === 2) && (id === name || id.startsWith(`${name}/`))
}

type HandlerBehaviour = Pick<
  Handler,
  'param' | 'reasons' | 'initial' | 'errors' | 'timeoutMs' | 'retries' | 'backoffMs'
>

function readBehaviour(row: HandlerTypeInfo, options: Options, what: string): HandlerBehaviour {
  return {
    param: options['param'],
    reasons: row.reasons && new Set(row.reasons),
    initial: row.initial,
    errors: readErrors(options['errors'], row.errors, what),
    timeoutMs: readDuration(options, 'timeout', what),
    retries: readRetries(options['retries'], what),
    backoffMs: readDuration(options, 'backoff', what),
  }
}

function readBackground(type: HandlerType, options: Options, what: string): BackgroundOptionsOf {
  return {
    initialDelay: readInitialDelay(options['initialDelay'], what) ?? 0,
    schedule: type === 'timer' ? readTimerSchedule(options, what) : undefined,
    cancellation: {
      backoffMs: readDuration(options, 'cancellationBackoff', what),
      timeoutMs: readDuration(options, 'cancellationTimeout', what),
      pollingMs: readDuration(options, 'cancellationPolling', what),
    },
  }
}

function readTimerSchedule(options: Options, what: string): BackgroundOptionsOf['schedule'] {
  const intervalMs = readDuration(options, 'interval', what)
  const idleMs = readDuration(options, 'idle', what)
  const sharp = readFlag(options, 'sharp', what)
  if (intervalMs === undefined && idleMs === undefined) {
    throwOptionError(what, 'it needs an "interval", or "idle" to be called after each change: { interval: 30 }')
  }
  if (intervalMs === 0) throwOptionError(what, 'the "interval" is longer than 0: without a pause, use a daemon')
  if (intervalMs === undefined && idleMs === 0) {
    throwOptionError(
      what,
      'without an "interval", "idle" is longer than 0: to be called with each change, use on.event',
    )
  }
  if (sharp && intervalMs === undefined) throwOptionError(what, '"sharp" needs an "interval" to be sharp about')
  return { intervalMs, sharp, idleMs }
}

function readFinalizer({ needsFinalizer }: HandlerTypeInfo, options: Options, what: string): boolean {
  if (needsFinalizer === 'cleanup') return readFlag(options, 'cleanup', what)
  return needsFinalizer && !readFlag(options, 'optional', what) && readFlag(options, 'finalizer', what, true)
}

function readReconciling(options: Options, what: string): ReconcileSpec {
  const resyncMs = readDuration(options, 'resync', what)
  if (resyncMs === 0) throwOptionError(what, '"resync" is longer than 0; leave it out for never')
  return {
    owns: readOwned(options['owns'], what),
    watches: readWatches(options['watches'], what),
    resyncMs,
    existing: readExisting(options, what),
  }
}

function readAdmission(options: Options, what: string): AdmissionSpec {
  return {
    operations: readOperations(options['operations'], what),
    subresource: readSubresource(options['subresource'], what),
    persistent: readFlag(options, 'persistent', what),
    sideEffects: readFlag(options, 'sideEffects', what),
    ignoreFailures: readFlag(options, 'ignoreFailures', what),
  }
}

function readConversion(options: Options, what: string): ConversionSpec {
  const [from, to] = [readVersion(options, 'from', what), readVersion(options, 'to', what)]
  if (from === to) throwOptionError(what, `"from" and "to" are the same version "${to}"`)
  return { from, to }
}

type Filters = Pick<Handler, 'labels' | 'annotations' | 'when' | 'field' | 'value' | 'old' | 'new'>

function readFilters(options: Options, field: readonly string[] | undefined, what: string): Filters {
  checkValuePatterns(options, field, what)
  return {
    labels: readMetaPatterns(options, 'labels', what),
    annotations: readMetaPatterns(options, 'annotations', what),
    when: readWhen(options['when'], what),
    field,
    value: options['value'],
    old: options['old'],
    new: options['new'],
  }
}

function checkFunction(fn: unknown, what: string): HandlerFunction {
  if (typeof fn === 'function') return fn as HandlerFunction
  return throwOptionError(
    what,
    `the handler is a function, and the last argument; got ${fn === null ? 'null' : typeof fn}`,
  )
}

/** Old and new values are those of an update; when an object comes or goes there is only one of them. */
function checkComparedOptions(parent: Handler, options: Options, what: string): void {
  if (options['old'] === undefined && options['new'] === undefined) return
  const isUpdating = parent.reasons === undefined ? !parent.initial : parent.reasons.has('update')
  if (!isUpdating) throwOptionError(what, '"old" and "new" are for sub-handlers of update and field handlers')
}

function readId(id: unknown, what: string): string | undefined {
  if (id === undefined || (typeof id === 'string' && id !== '')) return id
  return throwOptionError(what, '"id" is a string that is not empty')
}

/** A bound function is named after the one it was made of. */
export function nameOf(fn: { readonly name: string }): string {
  return typeof fn.name === 'string' ? fn.name.replace(/^(bound )+/, '') : ''
}
