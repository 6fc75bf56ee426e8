import { describe, expect, test } from 'vitest'
import { parseTime } from './timestamps.ts'

describe('timestamps are written in UTC', () => {
  test.each([
    ['2024-01-02T03:04:05Z', false, '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04:05.987654321Z', false, '2024-01-02T03:04:05Z'],
    ['2024-01-02T00:30:00+01:00', false, '2024-01-01T23:30:00Z'],
    ['2024-01-02T03:04:05.123456Z', true, '2024-01-02T03:04:05.123456Z'],
    ['2024-01-02T00:30:00.000001+01:00', true, '2024-01-01T23:30:00.000001Z'],
    ['2024-02-29T00:00:00Z', false, '2024-02-29T00:00:00Z'],
  ])('%s', (text, micro, canonical) => {
    expect(parseTime(text, micro)).toEqual({ text: canonical })
  })
})

describe("what is no timestamp is refused in Go's words", () => {
  const layout = '"2006-01-02T15:04:05Z07:00"'
  test.each([
    ['', `parsing time "" as ${layout}: cannot parse "" as "2006"`],
    ['2024-01-02', `parsing time "2024-01-02" as ${layout}: cannot parse "" as "T"`],
    ['2024-13-02T03:04:05Z', 'parsing time "2024-13-02T03:04:05Z": month out of range'],
    ['2023-02-29T00:00:00Z', 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    ['2024-01-02T24:00:00Z', 'parsing time "2024-01-02T24:00:00Z": hour out of range'],
    ['2024-01-02T03:04:05Zulu', 'parsing time "2024-01-02T03:04:05Zulu": extra text: "ulu"'],
  ])('"%s"', (text, error) => {
    expect(parseTime(text, false)).toEqual({ error })
  })
})
