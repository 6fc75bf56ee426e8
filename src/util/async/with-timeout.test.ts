import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { withTimeout } from './with-timeout.ts'

test('a timeout ends with the work and leaves no timer behind', async () => {
  const clock = new ManualClock()
  await withTimeout(clock, 1000, Promise.resolve())
  await withTimeout(clock, 1000, undefined)
  expect(clock.sleeping).toBe(0)
})

test('a timeout ends when the time is up, even if the work never ends', async () => {
  const clock = new ManualClock()
  let isOver = false
  const waiting = withTimeout(clock, 1000, new Promise(() => {})).then(() => (isOver = true))
  await clock.advance(999)
  expect(isOver).toBe(false)
  await clock.advance(1)
  await waiting
  expect(clock.sleeping).toBe(0)
})

test('a timeout passes on the error of the work', async () => {
  const clock = new ManualClock()
  await expect(withTimeout(clock, 1000, Promise.reject(new Error('on purpose')))).rejects.toThrow('on purpose')
  expect(clock.sleeping).toBe(0)
})
