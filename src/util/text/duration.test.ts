import { expect, test } from 'vitest'
import { type Duration, isDuration, toMs } from './duration.ts'

test.each<[Duration, number]>([
  [0, 0],
  [1.5, 1500],
  [60, 60_000],
  ['500ms', 500],
  ['10s', 10_000],
  ['0.5s', 500],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['30d', 2_592_000_000],
  ['0.5d', 43_200_000],
])('the duration %s is %d milliseconds', (duration, ms) => {
  expect(toMs(duration)).toBe(ms)
})

test.each([-1, Number.NaN, '10', '10 s', '-5s', '5w', '5D', '', null, undefined, {}])(
  'the value %s is not a duration',
  (value) => {
    expect(isDuration(value)).toBe(false)
    expect(() => toMs(value as Duration, 'the delay')).toThrow(/as the delay: expected a number of seconds/)
  },
)
