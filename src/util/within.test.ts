import { expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { within } from './within.ts'

test('ends with the work, and leaves nothing behind', async () => {
  const clock = new ManualClock()
  await within(clock, 1000, Promise.resolve())
  await within(clock, 1000, undefined)
  expect(clock.sleeping).toBe(0)
})

test('ends when the time is up, whatever becomes of the work', async () => {
  const clock = new ManualClock()
  let isOver = false
  const waiting = within(clock, 1000, new Promise(() => {})).then(() => (isOver = true))
  await clock.advance(999)
  expect(isOver).toBe(false)
  await clock.advance(1)
  await waiting
  expect(clock.sleeping).toBe(0)
})

test('fails as the work does', async () => {
  const clock = new ManualClock()
  await expect(within(clock, 1000, Promise.reject(new Error('on purpose')))).rejects.toThrow('on purpose')
  expect(clock.sleeping).toBe(0)
})
