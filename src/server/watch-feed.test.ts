import { expect, test } from 'vitest'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import { StatusError } from './status.ts'
import { ServerStore } from './storage/store.ts'
import { keyOf, type Stored } from './storage/stored.ts'
import type { WatchPlan } from './watch-stream.ts'
import { Watches } from './watches.ts'

type Changes = Parameters<NonNullable<WatchPlan['prepare']>>[0]

/** A watch whose conversions are answered by the test. */
class World {
  readonly store = new ServerStore({ changes: 1000, characters: 1_000_000 })
  readonly clock = new ManualClock()
  readonly watches = new Watches(this.store, this.clock, {
    pendingChanges: 5,
    pendingCharacters: 1_000_000,
    bookmarkIntervalMs: 1000,
  })
  /** Unanswered requests, as the names of their objects. */
  readonly asked: Array<{ readonly names: string; readonly answer: (isFine: boolean) => void }> = []
  readonly lines: string[] = []
  isOver = false

  put(name: string): Stored {
    const current = this.store.collection('things').get(keyOf('', name))
    const object = { apiVersion: 'v1', kind: 'Thing', metadata: { name, uid: name } }
    return (current ? this.store.replace(current, object, {}) : this.store.create('things', object, {}))!
  }

  async open(plan: Partial<WatchPlan> = {}): Promise<void> {
    const line = (...words: readonly unknown[]) => Buffer.from(`${words.join(' ')}\n`)
    const whole: WatchPlan = {
      initial: [],
      missed: [],
      matches: () => true,
      encode: (type, { name }) => line(type, name),
      prepare: (changes) => this.#prepare(changes),
      bookmark: (version) => line('BOOKMARK', version),
      marksInitialEnd: false,
      timeoutMs: 3_600_000,
      ...plan,
    }
    void this.#read(this.watches.open('things', whole, new AbortController().signal))
    await settle()
  }

  /** Answers the oldest request. */
  async answer(isFine = true): Promise<void> {
    this.asked.shift()!.answer(isFine)
    await settle()
  }

  #prepare(changes: Changes): Promise<void> | undefined {
    if (changes.length === 0) return undefined
    const names = changes.map(({ current }) => current.name).join(' ')
    return new Promise((resolve, reject) => {
      const answer = (isFine: boolean) => (isFine ? resolve() : reject(new StatusError(500, '', `not ${names}`)))
      this.asked.push({ names, answer })
    })
  }

  async #read(bytes: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of bytes) this.lines.push(...Buffer.from(chunk).toString().split('\n').filter(Boolean))
    this.isOver = true
  }

  get waiting(): string[] {
    return this.asked.map(({ names }) => names)
  }
}

test('what a watch begins with comes first, however long it takes', async () => {
  const world = new World()
  const initial = [world.put('a'), world.put('b')]
  await world.open({ initial })
  world.put('c')
  await settle()
  expect([world.waiting, world.lines]).toEqual([['a b'], []])
  await world.answer()
  expect([world.waiting, world.lines]).toEqual([['c'], ['ADDED a', 'ADDED b']])
  await world.answer()
  expect(world.lines).toEqual(['ADDED a', 'ADDED b', 'ADDED c'])
})

test('what happens meanwhile is asked for together', async () => {
  const world = new World()
  await world.open()
  for (const name of ['a', 'b', 'c']) world.put(name)
  await settle()
  expect(world.waiting).toEqual(['a'])
  await world.answer()
  expect(world.waiting).toEqual(['b c'])
  await world.answer()
  expect(world.lines).toEqual(['ADDED a', 'ADDED b', 'ADDED c'])
})

test('what fails together is tried one by one, up to the one that fails', async () => {
  const world = new World()
  await world.open()
  for (const name of ['a', 'b', 'c', 'd']) world.put(name)
  await settle()
  await world.answer()
  await world.answer(false)
  expect(world.waiting).toEqual(['b'])
  await world.answer()
  await world.answer(false)
  expect(world.waiting).toEqual([])
  expect(world.lines.slice(0, 2)).toEqual(['ADDED a', 'ADDED b'])
  expect(JSON.parse(world.lines[2]!)).toMatchObject({ type: 'ERROR', object: { code: 500, message: 'not c' } })
  expect([world.lines.length, world.isOver, world.watches.size]).toEqual([3, true, 0])
})

test('a watch that cannot begin says why and ends', async () => {
  const world = new World()
  await world.open({ initial: [world.put('a')] })
  world.put('b')
  await world.answer(false)
  expect(JSON.parse(world.lines[0]!)).toMatchObject({ type: 'ERROR', object: { message: 'not a' } })
  expect([world.lines.length, world.isOver, world.waiting]).toEqual([1, true, []])
})

test('bookmarks promise no more than was sent', async () => {
  const world = new World()
  const { version } = world.put('a')
  await world.open({ initial: [...world.store.collection('things').list('')] })
  await world.clock.advance(1000)
  expect(world.lines).toEqual([])
  await world.answer()
  world.put('b')
  await settle()
  await world.clock.advance(1000)
  expect(world.lines.slice(0, 2)).toEqual(['ADDED a', `BOOKMARK ${version}`])
  expect(world.lines).not.toContain(`BOOKMARK ${version + 1}`)
})

test('a watch that ends while it waits to begin promises nothing', async () => {
  const world = new World()
  await world.open({ initial: [world.put('a')], timeoutMs: 5000 })
  await world.clock.advance(5000)
  expect([world.lines, world.isOver]).toEqual([[], true])
})

test('a watch for which too much waits is cut off', async () => {
  const world = new World()
  await world.open({ initial: [world.put('a')] })
  for (const name of ['b', 'c', 'd', 'e', 'f', 'g']) world.put(name)
  await settle()
  expect([world.lines, world.isOver, world.watches.size]).toEqual([[], true, 0])
})
