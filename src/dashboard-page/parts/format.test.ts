import { expect, test } from 'vitest'
import { countOf, formatBytes, formatDistance, formatDuration, formatRate, splitResource } from './format.ts'

test.each([
  [0.254, '0.25 ms'],
  [4.24, '4.2 ms'],
  [12.4, '12 ms'],
  [999, '999 ms'],
  [4240, '4.2 s'],
  [42_400, '42 s'],
  [180_000, '3 min'],
  [7_200_000, '2 h'],
  [7_500_000, '2 h 5 min'],
  [90_000_000, '1 d 1 h'],
])('a duration of %d ms is shown as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test.each([
  [1_000_000, 'now'],
  [988_000, '12 s ago'],
  [1_042_900, 'in 42 s'],
  [400_000, '10 min ago'],
  [8_560_000, 'in 2 h 6 min'],
])('the time %d is shown as %s at the time 1000000', (atMs, text) => {
  expect(formatDistance(atMs, 1_000_000)).toBe(text)
})

test.each([
  [0, '0'],
  [0.254, '0.25'],
  [3.44, '3.4'],
  [120.4, '120'],
  [12_400, '12,400'],
])('a rate of %d is shown as %s', (rate, text) => {
  expect(formatRate(rate)).toBe(text)
})

test('a count has the plural of its noun, unless it is one', () => {
  expect([0, 1, 2000].map((count) => countOf(count, 'object'))).toEqual(['0 objects', '1 object', '2,000 objects'])
  expect(countOf(2, 'entry', 'entries')).toBe('2 entries')
})

test('sizes are shown in MiB, and from 1024 MiB on in GiB', () => {
  expect([formatBytes(130 * 1024 * 1024), formatBytes(1.5 * 1024 ** 3)]).toEqual(['130 MiB', '1.5 GiB'])
})

test('a resource is split into its plural and its group with the version', () => {
  expect(splitResource('databases.v1.example.com')).toEqual({ plural: 'databases', group: 'example.com/v1' })
  expect(splitResource('pods.v1')).toEqual({ plural: 'pods', group: 'v1' })
})
