import { expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { Bell } from './bell.ts'

function setUp() {
  const clock = new ManualClock()
  const bell = new Bell()
  const heard: number[] = []
  const wait = (delayMs: number) => bell.wait(clock, delayMs).then(() => heard.push(clock.now() - Date.UTC(2030, 0, 1)))
  return { clock, bell, heard, wait }
}

test('who waits is woken by the bell, and leaves no sleeper behind', async () => {
  const { clock, bell, heard, wait } = setUp()
  const waiting = wait(1000)
  await clock.advance(400)
  bell.ring()
  await waiting
  expect([heard, clock.sleeping]).toEqual([[400], 0])
})

test('or when the time is up', async () => {
  const { clock, heard, wait } = setUp()
  const waiting = wait(1000)
  await clock.advance(1000)
  await waiting
  expect(heard).toEqual([1000])
})

test('what rang while nobody waited is heard at once, and only once', async () => {
  const { clock, bell, heard, wait } = setUp()
  bell.ring()
  bell.ring()
  await wait(1000)
  const second = wait(Infinity)
  await clock.advance(5000)
  expect(heard).toEqual([0])
  bell.ring()
  await second
  expect(heard).toEqual([0, 5000])
})
