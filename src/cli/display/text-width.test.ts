import { expect, test } from 'vitest'
import { fitTo, truncate, widthOf } from './text-width.ts'

test.each([
  ['', 0],
  ['orders', 6],
  ['größe', 5],
  ['e\u0301', 1],
  ['데이터', 6],
  ['数据库', 6],
  ['ﾃﾞｰﾀ', 4],
  ['Ａ', 2],
  ['👍', 2],
  ['▕█▏…⏎', 5],
])('the text %j takes %d columns', (text, columns) => expect(widthOf(text)).toBe(columns))

test('a text that is too long is cut with an ellipsis, and a text that fits stays whole', () => {
  expect(truncate(5, 'apple')).toBe('apple')
  expect(truncate(4, 'apple')).toBe('app…')
  expect(truncate(1, 'apple')).toBe('…')
  expect(truncate(0, 'apple')).toBe('')
  expect(truncate(5, '👍👍👍👍')).toBe('👍👍…')
})

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('a text with wide characters is never cut to more than %d columns', (width) => {
  expect(widthOf(truncate(width, '数据a库b👍'))).toBeLessThanOrEqual(width)
  expect(widthOf(fitTo(width, '数据a库b👍'))).toBe(width)
})

test('a text is padded to a number of columns on either side', () => {
  expect(fitTo(6, '数据')).toBe('数据  ')
  expect(fitTo(6, '1,204', 'right')).toBe(' 1,204')
  expect(fitTo(4, '1,204', 'right')).toBe('1,2…')
})
