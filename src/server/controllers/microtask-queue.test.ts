import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { badRequest } from '../status.ts'
import { MicrotaskQueue } from './microtask-queue.ts'

class LoggedParts {
  readonly clock = new ManualClock()
  readonly #closed = new AbortController()
  readonly closing = this.#closed.signal
  readonly logged: string[] = []
  readonly log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (message: string, { error }: { error?: unknown } = {}) => this.logged.push(`${message} (${error})`),
  }

  close(): void {
    this.#closed.abort()
  }
}

const parts = new LoggedParts()

const done = () => Promise.resolve()

test('work is done soon, but never inside of what asked for it', async () => {
  const worked: string[] = []
  const followUp = new MicrotaskQueue<string>(parts, 'tests', (key) => worked.push(key))
  followUp.add('a')
  expect(worked).toEqual([])
  await done()
  expect(worked).toEqual(['a'])
})

test('each key is worked on once, however often it was asked for, in the order of the first asking', async () => {
  const worked: string[] = []
  const followUp = new MicrotaskQueue<string>(parts, 'tests', (key) => worked.push(key))
  for (const key of ['b', 'a', 'b', 'a']) followUp.add(key)
  await done()
  expect(worked).toEqual(['b', 'a'])
})

test('work that asks for more gets it, after itself', async () => {
  const worked: number[] = []
  const followUp: MicrotaskQueue<number> = new MicrotaskQueue(parts, 'tests', (key) => {
    if (key > 0) followUp.add(key - 1)
    worked.push(key)
  })
  followUp.add(3)
  await done()
  await done()
  expect(worked).toEqual([3, 2, 1, 0])
})

test('what is refused keeps nothing else from being done', async () => {
  const worked: string[] = []
  const followUp = new MicrotaskQueue<string>(parts, 'tests', (key) => {
    if (key === 'refused') throw badRequest('no')
    worked.push(key)
  })
  for (const key of ['a', 'refused', 'b']) followUp.add(key)
  await done()
  followUp.add('c')
  await done()
  expect(worked).toEqual(['a', 'b', 'c'])
})

test('a bug is logged, keeps nothing else from being done, and its key is tried again later and later', async () => {
  const mine = new LoggedParts()
  const worked: string[] = []
  let bugs = 3
  const followUp = new MicrotaskQueue<string>(mine, 'example-controller', (key) => {
    if (key === 'buggy' && bugs-- > 0) throw new TypeError('no such thing')
    worked.push(key)
  })
  for (const key of ['a', 'buggy', 'b']) followUp.add(key)
  await done()
  expect(worked).toEqual(['a', 'b'])
  await mine.clock.advance(1000 + 2000)
  expect(worked).toEqual(['a', 'b'])
  await mine.clock.advance(4000)
  expect(worked).toEqual(['a', 'b', 'buggy'])
  expect(mine.logged).toEqual(
    [1, 2, 4].map(
      (seconds) =>
        `The controller "example-controller" of the embedded API server failed on "buggy": it will try again in ${seconds} s (TypeError: no such thing)`,
    ),
  )
})

test('a bug is not tried again on a server that is closed', async () => {
  const mine = new LoggedParts()
  const followUp = new MicrotaskQueue<string>(mine, 'example-controller', () => {
    throw new TypeError('no such thing')
  })
  followUp.add('buggy')
  await done()
  mine.close()
  await mine.clock.advance(3600_000)
  expect(mine.logged).toHaveLength(1)
  expect(mine.clock.sleeping).toBe(0)
})
