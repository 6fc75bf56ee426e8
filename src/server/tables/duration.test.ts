import { expect, test } from 'vitest'
import { formatDuration } from './duration.ts'

const minute = 60
const hour = 60 * minute
const day = 24 * hour
const year = 365 * day

test.each([
  [-2, '<invalid>'],
  [-1.9, '0s'],
  [0, '0s'],
  [0.9, '0s'],
  [119, '119s'],
  [120, '2m'],
  [125, '2m5s'],
  [10 * minute - 1, '9m59s'],
  [10 * minute + 59, '10m'],
  [3 * hour - 1, '179m'],
  [3 * hour, '3h'],
  [3 * hour + minute, '3h1m'],
  [8 * hour + minute, '8h'],
  [2 * day - 1, '47h'],
  [2 * day, '2d'],
  [2 * day + hour, '2d1h'],
  [8 * day + hour, '8d'],
  [2 * year - 1, '729d'],
  [2 * year, '2y'],
  [2 * year + day, '2y1d'],
  [8 * year + day, '8y'],
])('%d seconds are %s', (seconds, text) => {
  expect(formatDuration(seconds * 1000)).toBe(text)
})
