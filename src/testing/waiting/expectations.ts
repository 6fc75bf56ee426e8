/** What an object is waited for to be: a function that says so, or a part of the object. */
import type { DeepPartial } from '../../client/client-options.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { describeValue } from './shortened.ts'

/**
 * How an object should look: a function that returns something truthy for it, or the fields it should have. Fields that are not named
 * may be anything; `undefined` and `null` stand for a field that is absent. Lists must have the same length.
 */
export type Expectation<T> = ((object: T) => unknown) | DeepPartial<T>

export function isExpected<T extends object>(object: T, expectation: Expectation<T>): boolean {
  return typeof expectation === 'function'
    ? Boolean((expectation as (object: T) => unknown)(object))
    : findMismatches(object, expectation, '').length === 0
}

/** One line for each field that is not as expected; none for functions, which cannot be compared with. */
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
