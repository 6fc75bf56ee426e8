import { expect, test } from 'vitest'
import { TokenBuckets } from './token-buckets.ts'

/** How many are given out of so many asked for. */
function takeMany(buckets: TokenBuckets, key: string, nowMs: number): number {
  return Array.from({ length: 100 }, () => buckets.take(key, nowMs)).filter(Boolean).length
}

test.each([
  ['nothing before five minutes', 5 * 60_000 - 1, 0],
  ['one after five minutes', 5 * 60_000, 1],
  ['two after ten', 10 * 60_000, 2],
  ['never more than at first', 7 * 24 * 3_600_000, 25],
  ['nothing when the clock was set back', -3_600_000, 0],
])('after 25 at once, %s', (_, passedMs, expected) => {
  const buckets = new TokenBuckets()
  expect(takeMany(buckets, 'a', 0)).toBe(25)
  expect(takeMany(buckets, 'a', passedMs)).toBe(expected)
})

test('every key has its own', () => {
  const buckets = new TokenBuckets()
  takeMany(buckets, 'a', 0)
  expect(takeMany(buckets, 'b', 0)).toBe(25)
})
