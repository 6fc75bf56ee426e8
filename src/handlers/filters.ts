/**
 * Patterns for labels, annotations and field values, and combinations of filter callbacks. create-handler.ts checks patterns at
 * registration, matching.ts applies them for every event. Synchronous.
 */

import { ConcealedValue } from '../causation/concealed-value.ts'
import { KopfError } from '../errors.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { getOwn, isPlainObject } from '../util/json/json.ts'
import type { ValuePattern } from './options.ts'

/**
 * A pattern for filters that matches any existing value of a label, an annotation or a field, even an empty string.
 *
 * @example
 * ```ts
 * kopf.on.create('kopfexamples', { labels: { app: PRESENT } }, handler)
 * ```
 */
export const PRESENT: unique symbol = Symbol.for('kopf.PRESENT') as never
/** The type of `PRESENT`. */
export type Present = typeof PRESENT

/**
 * A pattern for filters that matches if the label, the annotation or the field does not exist.
 *
 * @example
 * ```ts
 * kopf.on.update('kopfexamples', { annotations: { 'example.com/skip': ABSENT } }, handler)
 * ```
 */
export const ABSENT: unique symbol = Symbol.for('kopf.ABSENT') as never
/** The type of `ABSENT`. */
export type Absent = typeof ABSENT

/**
 * A filter callback: `(args) => …` for `when`, `(value, args) => …` for labels, annotations and values. It returns a truthy value to match.
 */
export type FilterCallback<A extends readonly unknown[]> = (...args: A) => unknown

/**
 * Combines filter callbacks: matches if all of them match. Without callbacks, it matches everything.
 *
 * @example
 * ```ts
 * kopf.on.create('kopfexamples', { when: all(isLarge, isProduction) }, handler)
 * ```
 */
export function all<A extends readonly unknown[]>(...callbacks: FilterCallback<A>[]): (...args: A) => boolean {
  return (...args) => callbacks.every((callback) => toVerdict(callback(...args)))
}

/** Combines filter callbacks: matches if at least one of them matches. Without callbacks, it matches nothing. See {@link all}. */
export function any<A extends readonly unknown[]>(...callbacks: FilterCallback<A>[]): (...args: A) => boolean {
  return (...args) => callbacks.some((callback) => toVerdict(callback(...args)))
}

/** Combines filter callbacks: matches if none of them matches. Without callbacks, it matches everything. See {@link all}. */
export function none<A extends readonly unknown[]>(...callbacks: FilterCallback<A>[]): (...args: A) => boolean {
  return (...args) => !callbacks.some((callback) => toVerdict(callback(...args)))
}

/**
 * Negates a filter callback: matches if the callback does not match.
 *
 * @example
 * ```ts
 * kopf.on.create('kopfexamples', { when: not(isProduction) }, handler)
 * ```
 */
export function not<A extends readonly unknown[]>(callback: FilterCallback<A>): (...args: A) => boolean {
  return (...args) => !toVerdict(callback(...args))
}

/** Converts the result of a callback to a boolean. Throws for a promise, which would always be truthy. */
export function toVerdict(result: unknown): boolean {
  if (isThenable(result)) {
    // A rejection of the unused promise must not end the process.
    Promise.resolve(result).catch(() => undefined)
    throw new KopfError(
      'KOPF_FILTER',
      'Cannot use a promise as the result of a filter: filters are called for every event, and must be synchronous',
    )
  }
  return Boolean(result)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/**
 * Whether a value matches the pattern. An undefined value is absent. `args` is called only for callbacks, since creating arguments is slow.
 */
export function matchesPattern(pattern: ValuePattern, value: unknown, args: () => object): boolean {
  if (pattern === PRESENT) return value !== undefined
  if (pattern === ABSENT) return value === undefined
  if (typeof pattern === 'function') return toVerdict(pattern(value, args()))
  return value !== undefined && isDeepEqual(pattern, value, matchesConcealed)
}

/** Compares a literal with the digest of an old value of a Secret: the value itself is not stored. */
function matchesConcealed(pattern: unknown, value: unknown): boolean | undefined {
  return value instanceof ConcealedValue ? value.matches(pattern) : undefined
}

/** The first key whose value does not match its pattern; undefined if all match. */
export function findPatternMismatch(
  patterns: Readonly<Record<string, ValuePattern>>,
  values: unknown,
  args: () => object,
): string | undefined {
  const given = isPlainObject(values) ? values : {}
  for (const key of Object.keys(patterns)) {
    if (!matchesPattern(patterns[key], getOwn(given, key), args)) return key
  }
  return undefined
}
