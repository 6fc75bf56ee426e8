/** The options that users give with a handler, and whether they are right. Types for the front door, checks for create-handler.ts. */
import { KopfError } from '../errors.ts'
import { suggestName } from '../util/text/did-you-mean.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import type { CheckedPath, ValueAt, ValuePatternOf } from './args/field-types.ts'
import { ABSENT, type Absent, PRESENT, type Present } from './filters.ts'
import type { AdmissionOperation, ErrorsMode, FieldPath, ValuePattern } from './handler.ts'

/** A label or an annotation: the exact value, PRESENT, ABSENT, or a callback that gets undefined where there is none. */
type MetaPattern<A> = string | Present | Absent | ((value: string | undefined, args: A) => unknown)

/** The value of a field: the exact value, PRESENT, ABSENT, or a callback. `V` is the type of the field in the resource. */
type FieldPattern<V, A> = ValuePatternOf<V, A> | Present | Absent

export interface NamedOptions {
  /** Stored on the objects. Default: the name of the function; for an anonymous one, the kind of the handler. */
  readonly id?: string
  /** Passed to the handler as it is, to tell apart several registrations of one function. */
  readonly param?: unknown
}

export interface RetryOptions {
  /** What arbitrary errors are: tried again, final, or no matter. Default: "temporary". */
  readonly errors?: ErrorsMode
  /** How long to go on trying since the first attempt. Default: for ever. */
  readonly timeout?: Duration
  /** How many attempts there can be. Default: any number. */
  readonly retries?: number
  /** How long to wait after an arbitrary error. Default: `settings.execution.defaultBackoff`. */
  readonly backoff?: Duration
}

/** `T` is the type of the objects, `P` the path in `field`: both are checked where they are known. */
export interface FilterOptions<A, T = unknown, P = FieldPath> {
  /** Only objects with these labels: `{ app: 'web', legacy: ABSENT }`. */
  readonly labels?: Readonly<Record<string, MetaPattern<A>>>
  /** Only objects with these annotations. */
  readonly annotations?: Readonly<Record<string, MetaPattern<A>>>
  /** Only objects of which this is true. Not async. */
  readonly when?: (args: A) => unknown
  /** Only objects with this field: `'spec.size'`, or `['metadata', 'labels', 'example.com/size']`. */
  readonly field?: CheckedPath<T, P>
  /** Only objects whose field has this value; for changes, before or after. */
  readonly value?: FieldPattern<ValueAt<T, P>, A>
}

export interface ComparedOptions<A, V = unknown, O = V> {
  /** Only changes from this value of the field. */
  readonly old?: FieldPattern<O, A>
  /** Only changes to this value of the field. */
  readonly new?: FieldPattern<V, A>
}

export interface BackgroundOptions<A> {
  /** How long to wait before the first call; a function is asked for each object. Default: 0. */
  readonly initialDelay?: Duration | ((args: A) => Duration)
  /** Whether the object is kept from going while this runs for it. Default: true. */
  readonly finalizer?: boolean
}

export interface CancellationOptions {
  /** How long to wait after `stopped` is set before it is cancelled. Default: not at all. */
  readonly cancellationBackoff?: Duration
  /** How long to wait after `signal` is aborted before it is abandoned. Default: it is never cancelled, but waited for. */
  readonly cancellationTimeout?: Duration
  /** How often to say that it is still waited for. Default: `settings.background.cancellationPolling`. */
  readonly cancellationPolling?: Duration
}

export interface AdmissionHandlerOptions {
  /** Only these operations: `['CREATE', 'UPDATE']`. Default: all. */
  readonly operations?: readonly AdmissionOperation[]
  /** Only this subresource, such as `status`; `*` for the object and all its subresources. Default: the object itself. */
  readonly subresource?: string
  /** Whether the webhook stays in the managed configuration when the operator stops: then nothing gets past it. Default: false. */
  readonly persistent?: boolean
  /** Whether it does more than answer, unless `dryrun` is true. Default: false. */
  readonly sideEffects?: boolean
  /** Whether requests go through when it cannot be asked. Default: false. */
  readonly ignoreFailures?: boolean
}

/** A timer has an interval, or waits for changes to settle, or both. */
export type TimerOptions =
  | { readonly interval: Duration; readonly idle?: Duration; readonly sharp?: boolean }
  | { readonly interval?: Duration; readonly idle: Duration; readonly sharp?: false }

export type Options = Readonly<Record<string, unknown>>

/** Refuses what is no option of this kind of handler, by name. */
export function checkOptions(options: unknown, known: readonly string[], what: string): Options {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    return throwOptionError(what, 'the options are an object, such as { retries: 3 }')
  }
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || known.includes(name)) continue
    const meant = suggestName(name, known)
    const hint = meant === undefined ? `there are ${known.join(', ')}` : `did you mean "${meant}"?`
    throwOptionError(what, `it has no option "${name}"; ${hint}`)
  }
  return options as Options
}

export function readErrors(value: unknown, byDefault: ErrorsMode, what: string): ErrorsMode {
  if (value === undefined) return byDefault
  if (value === 'ignored' || value === 'temporary' || value === 'permanent') return value
  return throwOptionError(what, '"errors" is one of "ignored", "temporary", "permanent"')
}

export function readRetries(value: unknown, what: string): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  return throwOptionError(
    what,
    `"retries" is a whole number that is not negative; leave it out for any number of attempts`,
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
  return throwOptionError(what, '"when" is a function that says true or false')
}

/** Patterns of labels or annotations; undefined where there are none, so that nothing is looked for. */
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
  return throwOptionError(what, `"field" is a path such as "spec.size" or ["spec", "size"]`)
}

/** Refuses combinations of patterns that could never match, or whose meaning nobody could tell. */
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
