import { describe, expect, test } from 'vitest'
import { formatGoTime, parseGoTime } from './go-time.ts'

test.each([
  ['2020-02-29T12:34:56Z', '2020-02-29T12:34:56Z'],
  ['2020-01-01T00:00:00.999999999+02:00', '2019-12-31T22:00:00Z'],
  ['2020-01-01T00:00:00,5-01:30', '2020-01-01T01:30:00Z'],
  ['2020-01-01T1:00:00Z', '2020-01-01T01:00:00Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
  ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59Z'],
])('the Go time %s is parsed as %s', (text, expected) => {
  expect(formatGoTime(parseGoTime(text))).toBe(expected)
})

describe('refused times', () => {
  const as = 'as "2006-01-02T15:04:05Z07:00": cannot parse'
  test.each([
    ['x', `parsing time "x" ${as} "x" as "2006"`],
    ['', `parsing time "" ${as} "" as "2006"`],
    ['2020-1-1T00:00:00Z', `parsing time "2020-1-1T00:00:00Z" ${as} "1-1T00:00:00Z" as "01"`],
    ['2020-01-01 00:00:00Z', `parsing time "2020-01-01 00:00:00Z" ${as} " 00:00:00Z" as "T"`],
    ['2020-01-01T00:00:00', `parsing time "2020-01-01T00:00:00" ${as} "" as "Z07:00"`],
    ['2020-01-01T00:00:00.Z', `parsing time "2020-01-01T00:00:00.Z" ${as} ".Z" as "Z07:00"`],
    ['2020-01-01T00:00:00Zx', 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'],
    ['2020-13-01T00:00:00Z', 'parsing time "2020-13-01T00:00:00Z": month out of range'],
    ['2021-02-29T00:00:00Z', 'parsing time "2021-02-29T00:00:00Z": day out of range'],
    ['2020-01-01T24:00:00Z', 'parsing time "2020-01-01T24:00:00Z": hour out of range'],
    ['2020-01-01T00:60:00Z', 'parsing time "2020-01-01T00:60:00Z": minute out of range'],
    ['2020-01-01T00:00:60Z', 'parsing time "2020-01-01T00:00:60Z": second out of range'],
    ['2020-01-01T00:00:00+25:00', 'parsing time "2020-01-01T00:00:00+25:00": time zone offset hour out of range'],
    ['2020-01-01T00:00:00+25:61', 'parsing time "2020-01-01T00:00:00+25:61": time zone offset minute out of range'],
    ['ä"\\', `parsing time "\\xc3\\xa4\\"\\\\" ${as} "\\xc3\\xa4\\"\\\\" as "2006"`],
  ])('the time %j is refused with the error message of Go', (text, message) => {
    expect(() => parseGoTime(text)).toThrow(new RangeError(message))
  })
})
