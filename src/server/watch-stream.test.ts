import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import type { KubeObject } from '../kube/objects.ts'
import { ServerStore } from './storage/store.ts'
import { keyOf, parseStored, type Stored } from './storage/stored.ts'
import type { WatchLimits, WatchPlan } from './watch-stream.ts'
import { Watches } from './watches.ts'

const rules = {}
const roomy: WatchLimits = { pendingChanges: 1000, pendingCharacters: 1_000_000, bookmarkIntervalMs: 60_000 }

function thing(name: string, labels: Record<string, string> = {}, text = ''): KubeObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name, uid: name, labels }, text }
}

class World {
  readonly store = new ServerStore({ changes: 1000, characters: 1_000_000 })
  readonly clock = new ManualClock()
  readonly watches: Watches

  constructor(limits: Partial<WatchLimits> = {}) {
    this.watches = new Watches(this.store, this.clock, { ...roomy, ...limits })
  }

  put(name: string, labels: Record<string, string> = {}, text = ''): Stored {
    const current = this.store.collection('things').get(keyOf('', name))
    const object = thing(name, labels, text)
    return (current ? this.store.replace(current, object, rules) : this.store.create('things', object, rules))!
  }

  remove(name: string): void {
    this.store.remove(this.store.collection('things').get(keyOf('', name))!)
  }

  open(plan: Partial<WatchPlan> = {}, signal = new AbortController().signal): Reader {
    const line = (type: string, rest: string) => Buffer.from(`${type} ${rest}\n`)
    const bytes = this.watches.open(
      'things',
      {
        initial: [],
        missed: [],
        matches: () => true,
        encode: (type, stored) => line(type, `${stored.name} ${parseStored(stored).metadata.resourceVersion}`),
        bookmark: (version, isEnd) => line(isEnd ? 'INITIAL' : 'BOOKMARK', String(version)),
        marksInitialEnd: false,
        timeoutMs: 3_600_000,
        ...plan,
      },
      signal,
    )
    return new Reader(bytes)
  }
}

/** Reads only when a method is called. */
class Reader {
  readonly #chunks: AsyncIterator<Uint8Array>

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]()
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return this.#chunks.next()
  }

  /** The next lines, or 'end'. */
  async lines(): Promise<string[] | 'end'> {
    const { done, value } = await this.next()
    return done
      ? 'end'
      : Buffer.from(value)
          .toString()
          .split('\n')
          .filter((line) => line !== '')
  }

  async all(): Promise<string[]> {
    const all: string[] = []
    for (;;) {
      const lines = await this.lines()
      if (lines === 'end') return all
      all.push(...lines)
    }
  }

  async leave(): Promise<void> {
    await this.#chunks.return?.()
  }
}

const isRed = ({ labels }: Stored) => labels?.['color'] === 'red'

test('begins with an empty chunk, so that the client learns that it is watching', async () => {
  expect(await new World().open().next()).toEqual({ done: false, value: new Uint8Array(0) })
})

test('goes from the initial state through its mark to the changes', async () => {
  const world = new World()
  const initial = [world.put('a'), world.put('b')]
  const reader = world.open({ initial, marksInitialEnd: true })
  world.put('c')
  world.watches.endAll()
  expect(await reader.all()).toEqual(['ADDED a 2', 'ADDED b 3', 'INITIAL 3', 'ADDED c 4'])
})

test('tells what was missed before what happens', async () => {
  const world = new World()
  world.put('a')
  world.put('a')
  world.remove('a')
  const reader = world.open({ missed: world.store.collection('things').history.since(2)! })
  world.put('b')
  world.watches.endAll()
  expect(await reader.all()).toEqual(['MODIFIED a 3', 'DELETED a 4', 'ADDED b 5'])
})

describe('with a selector', () => {
  test.each<[string, string | undefined, string | undefined, string | undefined]>([
    ['an object that comes with it is added', undefined, 'red', 'ADDED'],
    ['an object that comes without it is nobody', undefined, 'blue', undefined],
    ['an object that comes to match is added', 'blue', 'red', 'ADDED'],
    ['an object that goes on matching is modified', 'red', 'red', 'MODIFIED'],
    ['an object that ceases to match is deleted, although it lives', 'red', 'blue', 'DELETED'],
    ['an object that never matched is nobody', 'blue', 'green', undefined],
    ['an object that matched is deleted', 'red', undefined, 'DELETED'],
    ['an object that did not match is not', 'blue', undefined, undefined],
  ])('%s', async (_, before, after, expected) => {
    const world = new World()
    if (before !== undefined) world.put('a', { color: before })
    const reader = world.open({ matches: isRed })
    if (after !== undefined) world.put('a', { color: after })
    else world.remove('a')
    world.watches.endAll()
    // Always with the version of the change, whichever state is shown.
    expect(await reader.all()).toEqual(expected === undefined ? [] : [`${expected} a ${world.store.version}`])
  })

  test('an object that ceases to match is shown as it last matched', async () => {
    const world = new World()
    world.put('a', { color: 'red' })
    const encode: WatchPlan['encode'] = (type, stored) => Buffer.from(`${type} ${stored.labels?.['color']}\n`)
    const reader = world.open({ matches: isRed, encode })
    world.put('a', { color: 'blue' })
    world.watches.endAll()
    expect(await reader.all()).toEqual(['DELETED red'])
  })
})

describe('a reader that is slow', () => {
  test('is cut off when too many changes wait, and nothing is kept for it', async () => {
    const world = new World({ pendingChanges: 3 })
    const reader = world.open()
    await reader.next()
    for (const name of ['a', 'b', 'c']) world.put(name)
    expect(world.watches.size).toBe(1)
    world.put('d')
    expect(world.watches.size).toBe(0)
    expect(await reader.all()).toEqual([])
  })

  test('is cut off when too many characters wait', async () => {
    const world = new World({ pendingCharacters: 1000 })
    const reader = world.open()
    world.put('a', {}, 'x'.repeat(500))
    expect(world.watches.size).toBe(1)
    world.put('b', {}, 'x'.repeat(500))
    expect(world.watches.size).toBe(0)
    expect(await reader.all()).toEqual([])
  })

  test('that reads in time is not', async () => {
    const world = new World({ pendingChanges: 3, pendingCharacters: 1000 })
    const reader = world.open()
    await reader.next()
    for (let round = 0; round < 20; round += 1) {
      world.put('a', {}, 'x'.repeat(300))
      world.put('b', {}, 'x'.repeat(300))
      expect(await reader.lines()).toHaveLength(2)
    }
  })

  test('is not cut off for what it does not see', () => {
    const world = new World({ pendingChanges: 1 })
    world.open({ matches: isRed })
    for (let count = 0; count < 5; count += 1) world.put(`blue-${count}`, { color: 'blue' })
    expect(world.watches.size).toBe(1)
  })

  test('is not cut off for what it has missed: that waits elsewhere', async () => {
    const world = new World({ pendingChanges: 2, pendingCharacters: 100 })
    for (let count = 0; count < 9; count += 1) world.put('a', {}, 'x'.repeat(100))
    const reader = world.open({ missed: world.store.collection('things').history.since(1)! })
    world.watches.endAll()
    expect(await reader.all()).toHaveLength(9)
  })

  test('in the middle of its initial state gets no more of it', async () => {
    const world = new World({ pendingChanges: 1 })
    const initial = Array.from({ length: 40 }, (_, index) => world.put(`a${index}`))
    const encode: WatchPlan['encode'] = (type, stored) => Buffer.from(`${type} ${stored.name}${' '.repeat(10_000)}\n`)
    const reader = world.open({ initial, encode })
    await reader.next()
    expect((await reader.lines()).length).toBeLessThan(40)
    world.put('b')
    world.put('c')
    expect(await reader.lines()).toBe('end')
  })
})

describe('bookmarks', () => {
  test('come after every interval, with the version of the last change of the collection', async () => {
    const world = new World()
    const reader = world.open()
    await reader.next()
    world.put('a')
    expect(await reader.lines()).toEqual(['ADDED a 2'])
    await world.clock.advance(60_000)
    expect(await reader.lines()).toEqual(['BOOKMARK 2'])
    await world.clock.advance(60_000)
    expect(await reader.lines()).toEqual(['BOOKMARK 2'])
  })

  test('come after what happened before them, never in between', async () => {
    const world = new World()
    const reader = world.open()
    await reader.next()
    world.put('a')
    await world.clock.advance(60_000)
    world.put('b')
    world.watches.endAll()
    expect(await reader.all()).toEqual(['ADDED a 2', 'ADDED b 3', 'BOOKMARK 3'])
  })

  test('promise no less for changes that are filtered out', async () => {
    const world = new World()
    const reader = world.open({ matches: isRed })
    await reader.next()
    world.put('a', { color: 'blue' })
    await world.clock.advance(60_000)
    expect(await reader.lines()).toEqual(['BOOKMARK 2'])
  })

  test('do not come to who did not ask', async () => {
    const world = new World()
    const reader = world.open({ bookmark: undefined, marksInitialEnd: true })
    await world.clock.advance(600_000)
    world.watches.endAll()
    expect(await reader.all()).toEqual([])
  })
})

describe('the end', () => {
  test('comes after the time that the client gave, with a last bookmark', async () => {
    const world = new World()
    const reader = world.open({ timeoutMs: 5000 })
    world.put('a')
    await world.clock.advance(4999)
    world.put('b')
    await world.clock.advance(1)
    world.put('c')
    expect(await reader.all()).toEqual(['ADDED a 2', 'ADDED b 3', 'BOOKMARK 3'])
  })

  test('of one collection leaves the others alone', () => {
    const world = new World()
    world.open()
    world.watches.endAll('others')
    expect(world.watches.size).toBe(1)
    world.watches.endAll('things')
    expect(world.watches.size).toBe(0)
  })

  test.each<[string, (world: World) => unknown]>([
    ['when the server ends it, although nobody reads', (world) => world.open() && world.watches.endAll()],
    ['when its reader leaves before it has begun', (world) => world.open().leave()],
    [
      'when its reader leaves after the first chunk',
      async (world) => {
        const reader = world.open()
        await reader.next()
        await reader.leave()
      },
    ],
    [
      'when its reader leaves while it waits',
      async (world) => {
        const reader = world.open()
        await reader.next()
        const waiting = reader.next()
        await reader.leave()
        expect((await waiting).done).toBe(true)
      },
    ],
    [
      'when the client is gone',
      async (world) => {
        const gone = new AbortController()
        const reader = world.open({}, gone.signal)
        await reader.next()
        const waiting = reader.next()
        gone.abort()
        expect((await waiting).done).toBe(true)
      },
    ],
    ['when the client was gone before', (world) => world.open({}, AbortSignal.abort())],
    ['when its time is over', async (world) => world.open({ timeoutMs: 10 }) && (await world.clock.advance(10))],
  ])('%s, leaves nothing behind', async (_, end) => {
    const world = new World()
    await end(world)
    await settle()
    expect(world.watches.size).toBe(0)
    expect(world.clock.sleeping).toBe(0)
  })
})

test('whatever the reader does in between, nothing is lost, doubled or out of order', async () => {
  const step = fc.oneof(
    fc.record({
      type: fc.constant('put' as const),
      name: fc.constantFrom('a', 'b', 'c'),
      color: fc.constantFrom('red', 'blue'),
    }),
    fc.record({ type: fc.constant('read' as const) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 50 }), fc.nat(10), async (steps, openedAfter) => {
      const world = new World()
      const red = () => world.store.collection('things').list('').filter(isRed)
      const seen: string[] = []
      let reader: Reader | undefined
      let reading: Promise<void> | undefined
      let initialCount = 0
      for (const [index, one] of steps.entries()) {
        if (index === openedAfter) {
          initialCount = red().length
          reader = world.open({ initial: red(), matches: isRed, bookmark: undefined })
          await reader.next()
        }
        if (one.type === 'put') world.put(one.name, { color: one.color })
        else if (reader !== undefined) {
          reading ??= reader.lines().then((lines) => {
            if (lines !== 'end') seen.push(...lines)
            reading = undefined
          })
          await settle()
        }
      }
      if (reader === undefined) return
      world.watches.endAll()
      await reading
      seen.push(...(await reader.all()))
      const states = new Map<string, string>()
      for (const line of seen) {
        const [type, name] = line.split(' ') as [string, string]
        expect(states.has(name)).toBe(type !== 'ADDED')
        if (type === 'DELETED') states.delete(name)
        else states.set(name, line)
      }
      const versions = seen.slice(initialCount).map((line) => Number(line.split(' ')[2]))
      expect(versions).toEqual([...new Set(versions)].sort((one, other) => one - other))
      expect([...states.keys()].sort()).toEqual(red().map(({ name }) => name))
      for (const { name, version } of red()) expect(states.get(name)).toMatch(new RegExp(` ${version}$`))
    }),
  )
})
