/**
 * Creates the record of a handler from a registration, and rejects registrations that cannot work, while the stack still shows the line of the
 * user. Called by handler-definitions.ts and, for sub-handlers, while their parent runs.
 */
import { hasStatusField } from '../kube/crds/object-schema.ts'
import type { ResourceLike } from '../kube/resources/resources.ts'
import { toSelector } from '../kube/resources/selectors.ts'
import { lazy } from '../util/lazy.ts'
import type { HandlerDefinition, HandlerTypeInfo } from './definition.ts'
import type { ChangeHandler, Handler, HandlerBase, HandlerFunction } from './handler.ts'
import type { FieldPath } from './options.ts'
import {
  checkHandlerOptions,
  checkValuePatterns,
  type Options,
  readDuration,
  readErrors,
  readFieldPath,
  readMetaPatterns,
  readRetries,
  readWhen,
  throwOptionError,
} from './options.ts'

/** A registration of a handler, as the user wrote it. */
export interface HandlerInput {
  readonly type: string
  /** Undefined for activities. */
  readonly resource: ResourceLike | undefined
  readonly options: unknown
  readonly fn: unknown
  /** For `on.field`; the other handler types have it in their options. */
  readonly fieldPath?: FieldPath | undefined
}

export function buildHandler(definition: HandlerDefinition, input: HandlerInput): Handler {
  const { type, resource, fieldPath } = input
  const info = definition.types[type]!
  const name = `${/^[aeiou]/.test(type) ? 'an' : 'a'} "${type}" handler`
  const selector = definition.category === 'activity' ? undefined : toSelector(resource as ResourceLike)
  const subject = selector === undefined ? name : `${name} for ${selector}`
  if (type === 'field' && fieldPath === undefined)
    throwOptionError(subject, 'the field is missing: on.field(resource, "spec.size", fn)')
  const options = checkHandlerOptions(input.options, info.options, subject)
  const fn = checkFunction(input.fn, subject)
  const id = readId(options['id'], subject) ?? (nameOf(fn) || type)
  const field = readFieldPath(fieldPath ?? options['field'], subject)
  const shared = { ...readRetrying(info, options, subject), ...readFilters(options, field, subject) }
  const registration = { type, options, subject }
  const parts = definition.parse(registration)
  const suffixed = field === undefined ? id : `${id}/${field.join('.')}`
  return {
    ...shared,
    ...parts,
    category: definition.category,
    definition,
    info,
    type,
    id: definition.completeId?.(id, parts) ?? suffixed,
    fn,
    param: options['param'],
    selector,
    // Lazy: it converts the schema of the resource definition.
    observesGeneration: lazy(() => hasStatusField(resource, 'observedGeneration')),
    needsFinalizer: definition.needsFinalizer?.(registration) ?? false,
  } as Handler
}

/** The id is `parent/child`; the child's part is the given id or the name of the function, without the field. */
export function createSubhandler(
  parent: Handler,
  id: string | undefined,
  given: object | undefined,
  input: unknown,
): ChangeHandler {
  const subject = `a sub-handler of "${parent.id}"`
  if (parent.category !== 'change') throwOptionError(subject, 'only handlers of changes can have sub-handlers')
  const info = parent.definition.types['subhandler']!
  const options = checkHandlerOptions(given, info.options, subject)
  const fn = checkFunction(input, subject)
  const ownId = readId(id, subject) ?? nameOf(fn)
  if (ownId === '') throwOptionError(subject, 'the function has no name: give it an id, subhandler("id", fn)')
  checkComparedOptions(parent, options, subject)
  return {
    ...readRetrying(info, options, subject),
    ...readFilters(options, readFieldPath(options['field'], subject), subject),
    category: 'change',
    definition: parent.definition,
    info,
    type: 'subhandler',
    id: `${parent.id}/${ownId}`,
    fn,
    param: options['param'],
    selector: undefined,
    observesGeneration: parent.observesGeneration,
    reasons: undefined,
    initial: false,
    deleted: false,
    needsFinalizer: false,
    needsChange: parent.needsChange,
  }
}

/** Whether the id may come from a minified function name. Ids are stored on objects, and the next build would have another id. */
export function isSuspiciousName({ id, fn }: Handler): boolean {
  const name = nameOf(fn)
  return (name.length === 1 || name.length === 2) && (id === name || id.startsWith(`${name}/`))
}

type Retrying = Pick<HandlerBase, 'errors' | 'timeoutMs' | 'retries' | 'backoffMs'>

function readRetrying(info: HandlerTypeInfo, options: Options, subject: string): Retrying {
  return {
    errors: readErrors(options['errors'], info.errors, subject),
    timeoutMs: readDuration(options, 'timeout', subject),
    retries: readRetries(options['retries'], subject),
    backoffMs: readDuration(options, 'backoff', subject),
  }
}

type Filters = Pick<HandlerBase, 'labels' | 'annotations' | 'when' | 'field' | 'value' | 'old' | 'new'>

function readFilters(options: Options, field: readonly string[] | undefined, subject: string): Filters {
  checkValuePatterns(options, field, subject)
  return {
    labels: readMetaPatterns(options, 'labels', subject),
    annotations: readMetaPatterns(options, 'annotations', subject),
    when: readWhen(options['when'], subject),
    field,
    value: options['value'],
    old: options['old'],
    new: options['new'],
  }
}

function checkFunction(fn: unknown, subject: string): HandlerFunction {
  if (typeof fn === 'function') return fn as HandlerFunction
  return throwOptionError(
    subject,
    `the last argument must be the handler function; got ${fn === null ? 'null' : typeof fn}`,
  )
}

/** Only updates have an old and a new value. */
function checkComparedOptions(parent: ChangeHandler, options: Options, subject: string): void {
  if (options['old'] === undefined && options['new'] === undefined) return
  const isUpdating = parent.reasons === undefined ? !parent.initial : parent.reasons.has('update')
  if (!isUpdating) throwOptionError(subject, '"old" and "new" are for sub-handlers of update and field handlers')
}

function readId(id: unknown, subject: string): string | undefined {
  if (id === undefined || (typeof id === 'string' && id !== '')) return id
  return throwOptionError(subject, '"id" must be a string that is not empty')
}

/** The name of a bound function is the name of its original. */
export function nameOf(fn: { readonly name: string }): string {
  return typeof fn.name === 'string' ? fn.name.replace(/^(bound )+/, '') : ''
}
