import { expect, test } from 'vitest'
import { SkippingClock } from '../../../testing/skipping-clock.ts'
import type { ServerContext } from '../../call.ts'
import { badRequest, conflict } from '../../status.ts'
import { WorkQueue } from './work-queue.ts'

function open(sync: (key: string) => Promise<void>) {
  const clock = new SkippingClock()
  const closing = new AbortController()
  const queue = new WorkQueue({ clock, closing: closing.signal } as unknown as ServerContext, sync, 'tests')
  return { clock, closing, queue }
}

test('a key is worked on once, however often it was asked for', async () => {
  const worked: string[] = []
  const { clock, queue } = open(async (key) => void worked.push(key))
  for (const key of ['b', 'a', 'b', 'a']) queue.add(key)
  expect(worked).toEqual([])
  await clock.advance(0)
  expect(worked).toEqual(['b', 'a'])
})

test('a key is never worked on twice at the same time, and again where it was asked for meanwhile', async () => {
  let running = 0
  let rounds = 0
  const { clock, queue } = open(async () => {
    running += 1
    expect(running).toBe(1)
    rounds += 1
    if (rounds < 3) queue.add('a')
    await clock.sleep(10)
    running -= 1
  })
  queue.add('a')
  await clock.advance('1s')
  expect(rounds).toBe(3)
})

test('what is refused is tried again, later and later', async () => {
  const times: number[] = []
  const { clock, queue } = open(async () => {
    times.push(clock.now())
    throw badRequest('no')
  })
  queue.add('a')
  await clock.advance('1s')
  const pauses = times.slice(1).map((time, index) => time - times[index]!)
  expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320])
})

test('who was outrun looks again at once', async () => {
  let rounds = 0
  const { clock, queue } = open(async () => {
    rounds += 1
    if (rounds < 5) throw conflict({ group: '', plural: 'pods' }, 'a', 'modified')
  })
  queue.add('a')
  await clock.advance(0)
  expect(rounds).toBe(5)
})

test('nothing more is done when the server has closed', async () => {
  let rounds = 0
  const { clock, closing, queue } = open(async () => {
    rounds += 1
  })
  queue.addAt('a', clock.now() + 1000)
  closing.abort()
  queue.add('b')
  await clock.advance('10s')
  expect(rounds).toBe(0)
  expect(clock.sleeping).toBe(0)
})
