import { expect, test } from 'vitest'
import { RecentMaximum } from './recent-maximum.ts'

test('there is none before the first value', () => {
  expect(new RecentMaximum(10).at(0)).toBe(0)
})

test.each([
  ['a smaller one does not hide a larger one', 5, 7],
  ['it is forgotten after its time', 11, 4],
  ['then the next largest counts', 13, 2],
  ['until all are forgotten', 20, 0],
])('%s', (_, nowMs, expected) => {
  const maximum = new RecentMaximum(10)
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
