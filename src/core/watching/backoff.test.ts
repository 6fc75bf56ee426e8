import { expect, test } from 'vitest'
import { Backoff } from './backoff.ts'

function delays(count: number, firstMs: number, random: () => number): number[] {
  const backoff = new Backoff(random)
  return Array.from({ length: count }, () => backoff.next(firstMs))
}

test('the delay doubles up to half a minute and stays there', () => {
  expect(delays(11, 100, () => 1)).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000])
})

test('chance takes off at most the half', () => {
  expect(delays(3, 100, () => 0)).toEqual([50, 100, 200])
})

test('a first delay of nothing does not stay nothing', () => {
  expect(delays(4, 0, () => 1)).toEqual([0, 200, 400, 800])
})

test('a first delay beyond the limit is kept', () => {
  expect(delays(2, 60_000, () => 1)).toEqual([60_000, 60_000])
})

test('never overflows', () => {
  expect(delays(2000, 100, () => 1).at(-1)).toBe(30_000)
})

test('begins anew after a reset', () => {
  const backoff = new Backoff(() => 1)
  backoff.next(100)
  backoff.next(100)
  expect(backoff.attempts).toBe(2)
  backoff.reset()
  expect(backoff.next(100)).toBe(100)
})
