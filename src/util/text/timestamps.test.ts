import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatTimestamp, parseTimestamp } from './timestamps.ts'

const midnight = Date.UTC(2020, 0, 1)

test.each<[number, string]>([
  [midnight, '2020-01-01T00:00:00.000000+00:00'],
  [midnight + 123, '2020-01-01T00:00:00.123000+00:00'],
  [midnight + 123.456, '2020-01-01T00:00:00.123456+00:00'],
  [-1, '1970-01-01T00:00:00.000000+00:00'],
  [midnight + 999.9999, '2020-01-01T00:00:01.000000+00:00'],
  [Number.POSITIVE_INFINITY, '9999-12-31T23:59:59.000000+00:00'],
])('the timestamp of %d ms is written as %s', (ms, text) => {
  expect(formatTimestamp(ms)).toBe(text)
})

test.each<[string, number | undefined]>([
  ['2020-01-01T00:00:00.000000+00:00', midnight],
  ['2020-01-01T00:00:00Z', midnight],
  ['2020-01-01T00:00:00', midnight],
  ['2020-01-01 00:00:00,5', midnight + 500],
  ['2020-01-01T00:00:00.5', midnight + 500],
  ['2020-01-01T02:00:00.000001+02:00', midnight + 0.001],
  ['2019-12-31T21:30:00-0230', midnight],
  ['2020-01-01T01:00:00+01', midnight],
  ['2020-01-01T00:00Z', midnight],
  ['2020-02-30T00:00:00Z', undefined],
  ['2020-01-01T25:00:00Z', undefined],
  ['2020-01-01', undefined],
  ['yesterday', undefined],
  ['', undefined],
])('the timestamp %j is parsed as %j', (text, ms) => {
  expect(parseTimestamp(text)).toBe(ms)
})

test('a timestamp that was parsed is written with the same microseconds', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800 }), fc.integer({ min: 0, max: 999_999 }), (seconds, micros) => {
      const text = `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}+00:00`
      expect(formatTimestamp(parseTimestamp(text)!)).toBe(text)
    }),
  )
})
