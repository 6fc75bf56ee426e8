import { describe, expect, test } from 'vitest'
import { scheduleProblem } from './cron.ts'

describe('schedules that can be read', () => {
  test.each([
    '* * * * *',
    '*/5 0-6/2 1,15 JAN-MAR mon-fri',
    '@daily',
    '@every 1h30m',
    'TZ=UTC 0 * * * *',
    '5/15 ? * * 0',
  ])('%s', (text) => {
    expect(scheduleProblem(text)).toBeUndefined()
  })
})

describe('schedules that cannot', () => {
  test.each([
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['@often', 'unrecognized descriptor: @often'],
    ['@every hour', 'failed to parse duration @every hour: time: invalid duration "hour"'],
  ])('%s', (text, problem) => {
    expect(scheduleProblem(text)).toBe(problem)
  })
})
