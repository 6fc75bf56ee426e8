import { expect, test } from 'vitest'
import { type Recursion, runRecursion } from './recursion.ts'

function* depthOf(value: unknown): Recursion<number> {
  if (!Array.isArray(value)) return 0
  let deepest = 0
  for (const item of value) deepest = Math.max(deepest, yield depthOf(item))
  return deepest + 1
}

test('a recursive function gets the results of the calls it makes, in order', () => {
  function* print(value: unknown): Recursion<string> {
    if (!Array.isArray(value)) return String(value)
    const parts: string[] = []
    for (const item of value) parts.push(yield print(item))
    return `(${parts.join(' ')})`
  }
  expect(runRecursion(print([1, [2, [], 3], 4]))).toBe('(1 (2 () 3) 4)')
})

test('the depth of the recursion is not limited by the call stack', () => {
  let value: unknown[] = []
  for (let level = 1; level < 100_000; level += 1) value = [value]
  expect(runRecursion(depthOf(value))).toBe(100_000)
})

test('an exception in an inner call ends the whole recursion', () => {
  function* fail(levels: number): Recursion<never> {
    if (levels === 0) throw new TypeError('the innermost call failed')
    return yield fail(levels - 1)
  }
  expect(() => runRecursion(fail(10_000))).toThrow('the innermost call failed')
})
