import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { LimitedWarnings } from './limited-warnings.ts'
import type { Logger } from './log.ts'

function start() {
  const clock = new ManualClock()
  const warned: string[] = []
  const logger = { warn: (text: string) => void warned.push(text), debug() {} } as unknown as Logger
  return { clock, warned, warnings: new LimitedWarnings(clock, logger) }
}

test('a repeated warning is logged once a minute, with the number of omitted ones', async () => {
  const { clock, warned, warnings } = start()
  for (let count = 0; count < 1000; count += 1) warnings.warn('refused')
  expect(warned).toEqual(['refused'])
  await clock.advance(60_000)
  warnings.warn('refused')
  expect(warned).toEqual(['refused', '999 more warnings of this kind were left out.', 'refused'])
})

test('warnings with different texts do not flood the log', () => {
  const { warned, warnings } = start()
  for (let count = 0; count < 10_000; count += 1) warnings.warn(`refused ${count}`)
  expect(warned).toHaveLength(10)
})
