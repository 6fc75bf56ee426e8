import { expect, test } from 'vitest'
import { toCount, toDuration, toNumber } from './render.ts'

test.each([
  [0, '0'],
  [999, '999'],
  [1204, '1,204'],
  [1_234_567, '1,234,567'],
])('the number %d is written as %s', (count, expected) => expect(toNumber(count)).toBe(expected))

test('a count has the singular for one, and the plural for every other number', () => {
  expect([0, 1, 2, 1000].map((count) => toCount(count, 'object'))).toEqual([
    '0 objects',
    '1 object',
    '2 objects',
    '1,000 objects',
  ])
})

test.each([
  [-5, '0.0 s'],
  [0, '0.0 s'],
  [449, '0.4 s'],
  [9949, '9.9 s'],
  [9950, '10 s'],
  [59_499, '59 s'],
  [59_500, '1 min'],
  [125_000, '2 min 5 s'],
  [3_599_499, '59 min 59 s'],
  [3_600_000, '1 h'],
  [3_900_000, '1 h 5 min'],
  [7_199_999, '2 h'],
])('a duration of %d milliseconds is written as %s', (ms, expected) => expect(toDuration(ms)).toBe(expected))
