/** Compares an object with the expectation of `cluster.until`: a predicate, or a part of the object. Called by cluster-waits.ts. */
import type { DeepPartial } from '../../client/client-options.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { describeValue } from './shortened.ts'

/**
 * The expected state of an object in `cluster.until`: a function that returns a truthy value for it, or the fields that the
 * object should have. Other fields are ignored; `undefined` and `null` mean that the field is absent. Lists must have the same
 * length.
 *
 * @example
 * ```ts
 * await cluster.until('configmaps', 'settings', { data: { color: 'blue', size: null } })
 * ```
 */
export type Expectation<T> = ((object: T) => unknown) | DeepPartial<T>

export function isExpected<T extends object>(object: T, expectation: Expectation<T>): boolean {
  return typeof expectation === 'function'
    ? Boolean((expectation as (object: T) => unknown)(object))
    : findMismatches(object, expectation, '').length === 0
}

/** One line for each field that differs from the expectation. Empty for predicates. */
export function describeMismatches<T extends object>(object: T, expectation: Expectation<T>): string[] {
  return typeof expectation === 'function' ? [] : findMismatches(object, expectation, '')
}

export function describeExpectation(expectation: unknown): string {
  return typeof expectation === 'function' ? String(expectation) : describeValue(expectation)
}

function findMismatches(actual: unknown, expected: unknown, path: string): string[] {
  if (isPlainObject(expected) && isPlainObject(actual)) {
    return Object.keys(expected).flatMap((key) =>
      findMismatches(
        Object.hasOwn(actual, key) ? actual[key] : undefined,
        expected[key],
        path === '' ? key : `${path}.${key}`,
      ),
    )
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    return expected.flatMap((item, index) => findMismatches(actual[index], item, `${path}[${index}]`))
  }
  const isSame = (expected ?? undefined) === (actual ?? undefined)
  return isSame ? [] : [`${path || 'the object'}: expected ${describeValue(expected)}, is ${describeValue(actual)}`]
}
