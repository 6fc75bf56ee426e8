import { expect, test } from 'vitest'
import { addedJitter, Backoff, equalJitter, exponential, LimitedBackoff, steps } from './backoff.ts'

function delays(count: number, firstMs: number, random: () => number): number[] {
  const backoff = new Backoff(exponential({ firstMs, maxMs: 30_000, jitter: equalJitter(random) }))
  return Array.from({ length: count }, () => backoff.next())
}

test('the backoff delay doubles up to half a minute and stays there', () => {
  expect(delays(11, 100, () => 1)).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000])
})

test('the jitter shortens a backoff delay by at most one half', () => {
  expect(delays(3, 100, () => 0)).toEqual([50, 100, 200])
})

test('a backoff delay that starts at 0 grows', () => {
  expect(delays(4, 0, () => 1)).toEqual([0, 200, 400, 800])
})

test('a first backoff delay above the limit is kept', () => {
  expect(delays(2, 60_000, () => 1)).toEqual([60_000, 60_000])
})

test('the backoff delay never overflows', () => {
  expect(delays(2000, 100, () => 1).at(-1)).toBe(30_000)
})

test('the backoff delay starts again after a reset', () => {
  const backoff = new Backoff(exponential({ firstMs: 100, maxMs: 30_000 }))
  backoff.next()
  backoff.next()
  expect(backoff.attempts).toBe(2)
  backoff.reset()
  expect(backoff.next()).toBe(100)
})

test('a first delay that is a function is read for each attempt', () => {
  let firstMs = 100
  const backoff = new Backoff(exponential({ firstMs: () => firstMs, maxMs: 30_000 }))
  expect(backoff.next()).toBe(100)
  firstMs = 1000
  expect(backoff.next()).toBe(2000)
})

test('the last of several steps repeats', () => {
  const backoff = new Backoff(steps([0, 1000, 5000]))
  expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([0, 1000, 5000, 5000])
})

test('added jitter never shortens a delay', () => {
  expect(addedJitter(0.1, () => 0)(1000)).toBe(1000)
  expect(addedJitter(0.1, () => 1)(1000)).toBe(1100)
})

test('a limited backoff ends with its delays and starts again after a reset', () => {
  const backoff = new LimitedBackoff([100, 200])
  expect([backoff.next(), backoff.next(), backoff.next()]).toEqual([100, 200, undefined])
  backoff.reset()
  expect(backoff.next()).toBe(100)
})
