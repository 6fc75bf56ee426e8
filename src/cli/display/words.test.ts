import { expect, test } from 'vitest'
import { cutTo, toCount, toDuration, toNumber } from './words.ts'

test.each([
  [0, '0'],
  [999, '999'],
  [1204, '1,204'],
  [1_234_567, '1,234,567'],
])('%d is %s', (count, expected) => expect(toNumber(count)).toBe(expected))

test('one is one', () => {
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
])('%d milliseconds are %s', (ms, expected) => expect(toDuration(ms)).toBe(expected))

test('what is cut shows it, and stays whole where it fits', () => {
  expect(cutTo(5, 'apple')).toBe('apple')
  expect(cutTo(4, 'apple')).toBe('app…')
  expect(cutTo(1, 'apple')).toBe('…')
  expect(cutTo(0, 'apple')).toBe('')
  expect(cutTo(3, '👍👍👍👍')).toBe('👍👍…')
})
