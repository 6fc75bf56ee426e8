/**
 * The options that users pass when they register a handler: the types for registration.ts, and the checks for create-handler.ts, which also
 * protect users of plain JavaScript.
 */
import { KopfError } from '../errors.ts'
import type { CheckedPath, ValueAt } from '../kube/resources/path-types.ts'
import { checkNames } from '../util/option-checks.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import { ABSENT, type Absent, PRESENT, type Present } from './filters.ts'

/**
 * The effect of an arbitrary error of a handler. `temporary`: the handler is retried. `permanent`: the handler has failed and is not
 * retried. `ignored`: the error is logged and counts as a success.
 */
export type ErrorsMode = 'ignored' | 'temporary' | 'permanent'

/**
 * The path of a field: a dotted string, `'spec.size'`, or a list of keys if a key contains dots, `['metadata', 'labels',
 * 'example.com/size']`.
 */
export type FieldPath = string | readonly string[]

/** A filter for a value: an equal value, PRESENT, ABSENT, or a callback that gets the value and all arguments. */
export type ValuePattern = unknown

/**
 * The policy for an existing object that has the name of a child and that the operator has not created.
 *
 * - `refuse`: the object stays unchanged, and the reconciler is retried. The condition `ChildrenApplied` of the parent is `False`.
 * - `leave`: the object stays unchanged, and the reconciler succeeds. The condition `ChildrenApplied` of the parent is `True` and names the
 *   object.
 * - `adopt`: the operator overwrites the object, becomes its owner, and deletes it with the parent. An object with another controller is
 *   refused.
 */
export type ExistingPolicy = 'refuse' | 'leave' | 'adopt'

/** The operation of a request to the API server, in admission handlers. `CONNECT` is for subresources such as `exec`. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

/** A pattern for a label or an annotation: the exact value, PRESENT, ABSENT, or a callback, which gets undefined if there is no value. */
type MetaPattern<A> = string | Present | Absent | ((value: string | undefined, args: A) => unknown)

/** A literal of a pattern: any JSON value except null. Only a callback can match null. */
type JsonPattern = string | number | boolean | bigint | readonly unknown[] | { readonly [key: string]: unknown }

/** A literal of the field's type. Integers beyond 2^53 are bigints in bodies, so patterns of number fields accept bigints. */
type EqualTo<V> = unknown extends V ? JsonPattern : Exclude<V, null | undefined> | (V extends number ? bigint : never)

/** A pattern for a field: a literal, or a callback that gets the value, or undefined if the object does not have the field. */
type ValuePatternOf<V, A> = EqualTo<V> | ((value: V | undefined, args: A) => unknown)

/** A pattern for a field: the exact value, PRESENT, ABSENT, or a callback. `V` is the type of the field in the resource. */
type FieldPattern<V, A> = ValuePatternOf<V, A> | Present | Absent

/** The options of every handler. */
export interface NamedOptions {
  /**
   * The id of the handler: the key of its progress on the objects and of its result in the status. Do not change it while objects are
   * handled. Default: the name of the function; for an anonymous function, the handler type.
   */
  readonly id?: string
  /** Any value, passed to the handler as `param`: distinguishes several registrations of one function. Default: undefined. */
  readonly param?: unknown
}

/** The options for errors and retries. An arbitrary error is one that is neither a `TemporaryError` nor a `PermanentError`. */
export interface RetryOptions {
  /**
   * The effect of an arbitrary error: `temporary` retries the handler, `permanent` does not, `ignored` counts as a success. Default:
   * `temporary`; for indexing functions `ignored`.
   */
  readonly errors?: ErrorsMode
  /** The time after the first attempt, after which the handler is not retried any more and fails permanently. Default: no limit. */
  readonly timeout?: Duration
  /** The maximum number of attempts, including the first one. After that the handler fails permanently. Default: no limit. */
  readonly retries?: number
  /**
   * The delay before the next attempt after an arbitrary error. Default: `settings.execution.defaultBackoff`; for reconcilers, a delay that
   * grows from one second to ten minutes.
   */
  readonly backoff?: Duration
}

/** The options that select objects by their metadata or by a callback. A handler is called only if all given filters match. */
export interface MetaFilterOptions<A> {
  /** Selects objects by labels: `{ app: 'web', legacy: ABSENT }`. Values are strings, PRESENT, ABSENT or callbacks. Default: any labels. */
  readonly labels?: Readonly<Record<string, MetaPattern<A>>>
  /** Selects objects by annotations, with the same patterns as `labels`. Default: any annotations. */
  readonly annotations?: Readonly<Record<string, MetaPattern<A>>>
  /** Selects objects by a callback, which returns whether the handler is called. It cannot be asynchronous. Default: all objects. */
  readonly when?: (args: A) => unknown
}

/**
 * The options that select objects. A handler is called only if all given filters match. `T` is the type of the objects, `P` the path in
 * `field`; the compiler checks the path if the type of the objects is known.
 */
export interface FilterOptions<A, T = unknown, P = FieldPath>
  extends MetaFilterOptions<A>,
    ValueFilterOptions<A, T, P> {
  /**
   * Selects objects that have this field: `'spec.size'`, or `['metadata', 'labels', 'example.com/size']`. Update handlers are called only
   * if the field has changed. Default: any fields.
   */
  readonly field?: CheckedPath<T, P>
}

/** The option that selects objects by the value of a field. */
export interface ValueFilterOptions<A, T, P> {
  /** Selects objects by the value of `field`; for changes, by the old or the new value. Default: any value. */
  readonly value?: FieldPattern<ValueAt<T, P>, A>
}

/** The options that select changes of `field`, for update and field handlers. */
export interface ComparedOptions<A, V = unknown, O = V> {
  /** Selects changes by the old value of the field. Default: any value. */
  readonly old?: FieldPattern<O, A>
  /** Selects changes by the new value of the field. Default: any value. */
  readonly new?: FieldPattern<V, A>
}

/** The options of daemons and timers. */
export interface BackgroundOptions<A> {
  /** The delay before the first call, or a function that returns it for each object. Default: 0. */
  readonly initialDelay?: Duration | ((args: A) => Duration)
  /** Whether a finalizer holds a deleted object until the daemon or timer has stopped. Default: true. */
  readonly finalizer?: boolean
}

/** The options for stopping a daemon: first `stopped` is set, then `signal` is aborted, then the daemon is abandoned. */
export interface CancellationOptions {
  /** The time between setting `stopped` and aborting `signal`, if there is a `cancellationTimeout`. Default: none. */
  readonly cancellationBackoff?: Duration
  /**
   * The time between aborting `signal` and abandoning the daemon: the operator then continues without it. Default: `signal` is not aborted,
   * and the operator waits for the daemon until the operator itself stops.
   */
  readonly cancellationTimeout?: Duration
  /**
   * How often the log mentions that the operator waits for a daemon without a `cancellationTimeout`. Default:
   * `settings.background.cancellationPolling`.
   */
  readonly cancellationPolling?: Duration
}

/** The options of admission handlers (`on.validate`, `on.mutate`). */
export interface AdmissionHandlerOptions {
  /**
   * The operations for which the handler is called: `['CREATE', 'UPDATE']`. `on.mutate` is called for deletions only with `['DELETE']`.
   * Default: all.
   */
  readonly operations?: readonly AdmissionOperation[]
  /**
   * The subresource for which the handler is called, such as `status`; `*` for the object and all its subresources. Default: the object
   * itself.
   */
  readonly subresource?: string
  /**
   * Whether the webhook stays in the managed configuration when the operator stops: the API server then rejects requests until the operator
   * runs again, unless `ignoreFailures` is set. Default: false.
   */
  readonly persistent?: boolean
  /** Whether the handler has side effects for requests that are not dry runs. It must check `dryrun`. Default: false. */
  readonly sideEffects?: boolean
  /** Whether the API server allows a request if it cannot reach the webhook. Default: false; it rejects the request. */
  readonly ignoreFailures?: boolean
}

/** The options of timers that are called at an interval. */
export interface IntervalOptions {
  /** The time from the end of a call to the next call. */
  readonly interval: Duration
  /** The time for which the object must have been unchanged before the timer is called. Default: none. */
  readonly idle?: Duration
  /** Whether `interval` counts from the beginning of a call rather than from its end. Default: false. */
  readonly sharp?: boolean
}

/** The options of timers without an interval: they are called once each time the object has not changed for a while. */
export interface IdleOptions {
  /** The time for which the object must have been unchanged before the timer is called. It is called again after the next change. */
  readonly idle: Duration
  /** The time from the end of a call to the next call. Default: none; the timer is called once after each `idle` period. */
  readonly interval?: undefined
  /** Requires `interval`. */
  readonly sharp?: false
}

export type Options = Readonly<Record<string, unknown>>

/** Throws for an option that the handler type does not have, with a suggestion for a misspelt name. */
export function checkHandlerOptions(options: unknown, known: readonly string[], what: string): Options {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    return throwOptionError(what, 'the options must be an object, such as { retries: 3 }')
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  checkNames(
    given.map(([name]) => name),
    known,
    (problem) => throwOptionError(what, problem),
  )
  return options as Options
}

export function readErrors(value: unknown, byDefault: ErrorsMode, what: string): ErrorsMode {
  if (value === undefined) return byDefault
  if (value === 'ignored' || value === 'temporary' || value === 'permanent') return value
  return throwOptionError(what, '"errors" must be one of "ignored", "temporary", "permanent"')
}

export function readRetries(value: unknown, what: string): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  return throwOptionError(
    what,
    `"retries" must be a whole number that is not negative; leave it out for any number of attempts`,
  )
}

export function readDuration(options: Options, name: string, what: string): number | undefined {
  const value = options[name]
  return value === undefined ? undefined : toMs(value as Duration, `the ${name} of ${what}`)
}

export function readFlag(options: Options, name: string, what: string, byDefault: boolean = false): boolean {
  const value = options[name]
  if (value === undefined || typeof value === 'boolean') return value ?? byDefault
  return throwOptionError(what, `"${name}" is true or false`)
}

export function readWhen(value: unknown, what: string): ((args: never) => unknown) | undefined {
  if (value === undefined || typeof value === 'function') return value as (args: never) => unknown
  return throwOptionError(what, '"when" must be a function that returns true or false')
}

/** The patterns of labels or annotations. Returns undefined for an empty object, so that matching can skip it. */
export function readMetaPatterns(
  options: Options,
  name: 'labels' | 'annotations',
  what: string,
): Readonly<Record<string, ValuePattern>> | undefined {
  const patterns = options[name]
  if (patterns === undefined) return undefined
  if (typeof patterns !== 'object' || patterns === null || Array.isArray(patterns)) {
    return throwOptionError(what, `"${name}" is an object, such as { app: 'web', tier: PRESENT }`)
  }
  const entries = Object.entries(patterns)
  for (const [key, pattern] of entries) {
    if (typeof pattern === 'string' || typeof pattern === 'function' || pattern === PRESENT || pattern === ABSENT)
      continue
    const given = pattern === null ? 'null' : `a value of type ${typeof pattern}`
    throwOptionError(what, `"${name}" has ${given} for "${key}": expected a string, PRESENT, ABSENT, or a function`)
  }
  return entries.length === 0 ? undefined : Object.freeze(Object.fromEntries(entries))
}

export function readFieldPath(field: unknown, what: string): readonly string[] | undefined {
  if (field === undefined) return undefined
  const path: unknown = typeof field === 'string' ? field.split('.') : field
  if (Array.isArray(path) && path.length > 0 && path.every((key) => typeof key === 'string' && key !== '')) {
    return Object.freeze([...path])
  }
  return throwOptionError(what, `"field" must be a path such as "spec.size" or ["spec", "size"]`)
}

/** Throws for patterns without a field, for null, and for `value` together with `old` or `new`, which would be ambiguous. */
export function checkValuePatterns(options: Options, field: readonly string[] | undefined, what: string): void {
  const given = ['value', 'old', 'new'].filter((name) => options[name] !== undefined)
  for (const name of given) {
    if (options[name] === null)
      throwOptionError(what, `"${name}" cannot be null: use ABSENT, or a function to ask for null`)
  }
  if (given.length > 0 && field === undefined) throwOptionError(what, `"${given[0]}" needs a "field" to look at`)
  if (given[0] === 'value' && given.length > 1) {
    throwOptionError(what, `"value" is for either of the old and the new value: use it, or "old" and "new"`)
  }
}

export function throwOptionError(what: string, problem: string): never {
  throw new KopfError('KOPF_HANDLER_OPTIONS', `Cannot register ${what}: ${problem}`)
}
