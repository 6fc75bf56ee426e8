import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { Notifier } from './latch.ts'

function setUp() {
  const clock = new ManualClock()
  const notifier = new Notifier()
  const heard: number[] = []
  const wait = (delayMs: number) =>
    notifier.wait(clock, delayMs).then(() => heard.push(clock.now() - Date.UTC(2030, 0, 1)))
  return { clock, bell: notifier, heard, wait }
}

test('a notification wakes up the waiter and leaves no timer behind', async () => {
  const { clock, bell: notifier, heard, wait } = setUp()
  const waiting = wait(1000)
  await clock.advance(400)
  notifier.notify()
  await waiting
  expect([heard, clock.sleeping]).toEqual([[400], 0])
})

test('a waiter wakes up when its time is up', async () => {
  const { clock, heard, wait } = setUp()
  const waiting = wait(1000)
  await clock.advance(1000)
  await waiting
  expect(heard).toEqual([1000])
})

test('a notification without a waiter wakes up the next waiter at once, and only once', async () => {
  const { clock, bell: notifier, heard, wait } = setUp()
  notifier.notify()
  notifier.notify()
  await wait(1000)
  const second = wait(Infinity)
  await clock.advance(5000)
  expect(heard).toEqual([0])
  notifier.notify()
  await second
  expect(heard).toEqual([0, 5000])
})
