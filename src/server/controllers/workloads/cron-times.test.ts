import { expect, test } from 'vitest'
import { parseCron } from './cron-times.ts'

const next = (schedule: string, after: string, timeZone?: string) => {
  const ms = parseCron(schedule, timeZone)(Date.parse(after))
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

test.each([
  ['* * * * *', '2030-01-01T00:00:00Z', '2030-01-01T00:01:00.000Z'],
  ['* * * * *', '2030-01-01T00:00:59.999Z', '2030-01-01T00:01:00.000Z'],
  ['*/15 * * * *', '2030-01-01T00:46:00Z', '2030-01-01T01:00:00.000Z'],
  ['30 6 * * mon-fri', '2030-01-04T07:00:00Z', '2030-01-07T06:30:00.000Z'],
  ['0 0 29 2 *', '2030-01-01T00:00:00Z', '2032-02-29T00:00:00.000Z'],
  ['0 0 13 * 5', '2030-01-01T00:00:00Z', '2030-01-04T00:00:00.000Z'],
  ['0 0 1 jan ?', '2030-01-01T00:00:00Z', '2031-01-01T00:00:00.000Z'],
  ['5/20 * * * *', '2030-01-01T00:05:00Z', '2030-01-01T00:25:00.000Z'],
  ['@daily', '2030-01-01T10:00:00Z', '2030-01-02T00:00:00.000Z'],
  ['@every 90s', '2030-01-01T00:00:10.500Z', '2030-01-01T00:01:40.000Z'],
  ['0 0 31 2 *', '2030-01-01T00:00:00Z', undefined],
])('"%s" after %s is due at %s', (schedule, after, expected) => {
  expect(next(schedule, after)).toBe(expected)
})

test('a time zone is heeded, in summer and in winter', () => {
  expect(next('0 9 * * *', '2030-01-01T00:00:00Z', 'Europe/Berlin')).toBe('2030-01-01T08:00:00.000Z')
  expect(next('0 9 * * *', '2030-07-01T00:00:00Z', 'Europe/Berlin')).toBe('2030-07-01T07:00:00.000Z')
  expect(next('TZ=America/New_York 0 9 * * *', '2030-01-01T00:00:00Z')).toBe('2030-01-01T14:00:00.000Z')
})
