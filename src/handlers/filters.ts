/**
 * What users say about the objects a handler is for: patterns of labels, annotations and values, and callbacks.
 * Patterns are checked at registration (create-handler.ts) and applied per event (matching.ts). Nothing here waits.
 */

import { ConcealedValue } from '../causation/concealed-value.ts'
import { KopfError } from '../errors.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { getOwn, isPlainObject } from '../util/json/json.ts'
import type { ValuePattern } from './handler.ts'

/** Matches any value, as long as there is one; an empty string is one. */
export const PRESENT: unique symbol = Symbol.for('kopf.PRESENT') as never
export type Present = typeof PRESENT

/** Matches where there is no value. */
export const ABSENT: unique symbol = Symbol.for('kopf.ABSENT') as never
export type Absent = typeof ABSENT

/** Any callback of a filter: `(args) => …` of `when`, `(value, args) => …` of everything else. */
export type FilterCallback<A extends readonly unknown[]> = (...args: A) => unknown

/** True where all callbacks say so; true for none of them. */
export function all<A extends readonly unknown[]>(...callbacks: FilterCallback<A>[]): (...args: A) => boolean {
  return (...args) => callbacks.every((callback) => toVerdict(callback(...args)))
}

/** True where at least one of the callbacks says so. */
export function any<A extends readonly unknown[]>(...callbacks: FilterCallback<A>[]): (...args: A) => boolean {
  return (...args) => callbacks.some((callback) => toVerdict(callback(...args)))
}

/** True where none of the callbacks says so. */
export function none<A extends readonly unknown[]>(...callbacks: FilterCallback<A>[]): (...args: A) => boolean {
  return (...args) => !callbacks.some((callback) => toVerdict(callback(...args)))
}

/** True where the callback says no. */
export function not<A extends readonly unknown[]>(callback: FilterCallback<A>): (...args: A) => boolean {
  return (...args) => !toVerdict(callback(...args))
}

/** Truth as everywhere in JavaScript, but for promises: they are true even when what they bring is not. */
export function toVerdict(answer: unknown): boolean {
  if (isThenable(answer)) {
    // Nobody will ever wait for it; its failure must not end the process.
    Promise.resolve(answer).catch(() => undefined)
    throw new KopfError(
      'KOPF_FILTER',
      'Cannot wait for an answer: filters are called for every event, and are not async',
    )
  }
  return Boolean(answer)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** Whether a value (undefined where there is none) is as the pattern says; `args` are made only for callbacks. */
export function matchesPattern(pattern: ValuePattern, value: unknown, args: () => object): boolean {
  if (pattern === PRESENT) return value !== undefined
  if (pattern === ABSENT) return value === undefined
  if (typeof pattern === 'function') return toVerdict(pattern(value, args()))
  return value !== undefined && isDeepEqual(pattern, value, matchesConcealed)
}

/** The old value of a Secret is known by its digest alone, which is enough to compare it with a literal. */
function matchesConcealed(pattern: unknown, value: unknown): boolean | undefined {
  return value instanceof ConcealedValue ? value.matches(pattern) : undefined
}

/** The first key whose value is not as the pattern says. */
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
