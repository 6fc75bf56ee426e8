import { expect, test } from 'vitest'
import { formatIndexes, parseIndexes } from './job-indexes.ts'

test.each([
  [[], ''],
  [[3], '3'],
  [[1, 0], '0,1'],
  [[0, 1, 2], '0-2'],
  [[5, 0, 1, 2, 7, 8], '0-2,5,7,8'],
])('the indexes %j are written as "%s"', (indexes, text) => {
  expect(formatIndexes(indexes)).toBe(text)
  expect(parseIndexes(text)).toEqual(new Set(indexes))
})
