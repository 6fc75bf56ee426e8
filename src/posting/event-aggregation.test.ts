import { expect, test } from 'vitest'
import { TokenBuckets } from './event-aggregation.ts'

/** Returns how many of 100 requested tokens are granted. */
function takeMany(buckets: TokenBuckets, key: string, nowMs: number): number {
  return Array.from({ length: 100 }, () => buckets.take(key, nowMs)).filter(Boolean).length
}

test.each([
  ['no token before five minutes', 5 * 60_000 - 1, 0],
  ['one token after five minutes', 5 * 60_000, 1],
  ['two tokens after ten minutes', 10 * 60_000, 2],
  ['never more tokens than at first', 7 * 24 * 3_600_000, 25],
  ['no token when the clock was set back', -3_600_000, 0],
])('a token bucket that was emptied at once has %s', (_, passedMs, expected) => {
  const buckets = new TokenBuckets()
  expect(takeMany(buckets, 'a', 0)).toBe(25)
  expect(takeMany(buckets, 'a', passedMs)).toBe(expected)
})

test('every key has a token bucket of its own', () => {
  const buckets = new TokenBuckets()
  takeMany(buckets, 'a', 0)
  expect(takeMany(buckets, 'b', 0)).toBe(25)
})
