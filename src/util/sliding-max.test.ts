import { expect, test } from 'vitest'
import { SlidingMaximum } from './sliding-max.ts'

test('a sliding maximum is 0 before the first value', () => {
  expect(new SlidingMaximum(10).at(0)).toBe(0)
})

test.each([
  ['is not hidden by a smaller value', 5, 7],
  ['drops the largest value after its time', 11, 4],
  ['falls to the next largest value', 13, 2],
  ['is 0 after all values are dropped', 20, 0],
])('a sliding maximum %s', (_, nowMs, expected) => {
  const maximum = new SlidingMaximum(10)
  for (const [value, atMs] of [
    [3, 0],
    [7, 1],
    [1, 2],
    [4, 3],
    [2, 4],
  ] as const) {
    maximum.add(value, atMs)
  }
  expect(maximum.at(nowMs)).toBe(expected)
})
