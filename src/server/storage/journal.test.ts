/** Which changes are durable on a disk that fails at every step and may lose power at any time. */
import { describe, expect, test } from 'vitest'
import { Random } from '../../../test/simulation/random.ts'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { type Operation, problem, UnreliableDisk } from '../../../test/support/unreliable-disk.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { openStore } from './data.ts'
import type { ServerStore } from './store.ts'
import type { StoreChange } from './stored.ts'

const rules = {}
const segmentBytes = 2000
const limits = { changes: 1000, characters: 1_000_000 }
const lines: string[] = []
const log = {
  debug: () => {},
  info: (line: string) => void lines.push(line),
  warn: (line: string) => void lines.push(line),
  error: (line: string) => void lines.push(line),
}

const open = (disk: UnreliableDisk, clock = new ManualClock()) => openStore(disk, { limits, clock, log, segmentBytes })

function thing(name: string, value: unknown): KubeObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name, uid: `uid-${name}` }, value }
}

function contents(store: ServerStore): Record<string, string> {
  return Object.fromEntries([...store.states()].map(({ key, json }) => [key, json] as const).sort())
}

/** Random writes, with the states that they lead to. */
class Life {
  /** By version, the contents right after the write. */
  readonly states = new Map<number, Record<string, string>>()
  /** The last version that was acknowledged, or that a listener has seen. */
  shown: number
  readonly heard: StoreChange[] = []
  readonly store: ServerStore
  readonly #random: Random

  constructor(store: ServerStore, random: Random) {
    this.store = store
    this.shown = store.version
    this.#random = random
    this.states.set(store.version, contents(store))
    store.subscribe('things', (change) => {
      this.heard.push(change)
      this.shown = Math.max(this.shown, change.version)
    })
  }

  write(): void {
    const name = `t${this.#random.below(8)}`
    const current = this.store.collection('things').get(name)
    const value = 'x'.repeat(this.#random.below(200))
    if (current === undefined) this.store.create('things', thing(name, value), rules)
    else if (this.#random.chance(0.3)) this.store.remove(current)
    else this.store.replace(current, thing(name, value), rules)
    this.states.set(this.store.version, contents(this.store))
  }

  /** Does `count` writes, some in the same turn; ends early if the disk no longer responds. */
  async run(count: number): Promise<void> {
    for (let written = 0; written < count; ) {
      for (let burst = 1 + this.#random.below(4); burst > 0; burst -= 1, written += 1) this.write()
      const { version } = this.store
      const acknowledged = this.store.settled()?.then(() => (this.shown = Math.max(this.shown, version)))
      const isOver = await Promise.race([
        acknowledged?.then(() => false),
        settle()
          .then(() => settle())
          .then(() => true),
      ])
      if (isOver) return
    }
  }
}

describe.each([
  ['the process is killed', false],
  ['the power is lost', true],
])('at whatever step %s,', (_, isPowerLost) => {
  test.each(['one', 'two', 'three'])('what was shown is there, nothing is there by half (%s)', async (seed) => {
    const whole = new UnreliableDisk()
    await new Life((await open(whole)).store, new Random(seed)).run(60)
    expect((await whole.list()).some((name) => name.endsWith('.snapshot'))).toBe(true)
    for (let step = 1; step <= whole.operations; step += 1) {
      const random = new Random(`${seed} ${step}`)
      const disk = new UnreliableDisk()
      disk.stopAt = step
      const life = new Life((await open(disk)).store, new Random(seed))
      await life.run(60)
      const { store } = await open(disk.afterCrash(isPowerLost ? () => random.next() : undefined))
      expect(store.version).toBeGreaterThanOrEqual(life.shown)
      // A prefix of the writes: everything up to some version, and nothing after it.
      expect(contents(store)).toEqual(life.states.get(store.version))
    }
  })

  test('and again in the next life, versions go on and never mean something else', async () => {
    for (let round = 0; round < 30; round += 1) {
      const random = new Random(`lives ${round}`)
      const shown = new Map<number, string>()
      let disk = new UnreliableDisk()
      let last = 0
      for (let life = 0; life < 6; life += 1) {
        const { store } = await open(disk)
        expect(store.version).toBeGreaterThanOrEqual(last)
        const living = new Life(store, random.fork(String(life)))
        disk.stopAt = disk.operations + 1 + random.below(40)
        await living.run(30)
        for (const { version, current } of living.heard) {
          expect(shown.get(version)).toBeUndefined()
          shown.set(version, current.json)
        }
        last = living.shown
        disk = disk.afterCrash(isPowerLost ? () => random.next() : undefined)
      }
    }
  })
})

describe('the history', () => {
  test('of before a restart can be watched from, as far as the log reaches back', async () => {
    const disk = new UnreliableDisk()
    const first = await open(disk)
    const { store } = first
    const a = store.create('things', thing('a', 1), rules)!
    store.remove(store.replace(a, thing('a', 2), rules)!)
    await first.close()
    const again = (await open(disk)).store
    const changes = again.collection('things').history.since(a.version)!
    expect(changes.map(({ type, version, previous }) => [type, version, previous?.version])).toEqual([
      ['MODIFIED', 3, 2],
      ['DELETED', 4, 3],
    ])
    expect(again.collection('others').history.since(1)).toEqual([])
  })

  test('of before a snapshot is forgotten, also by collections that are made later', async () => {
    const disk = new UnreliableDisk()
    const life = await open(disk)
    await new Life(life.store, new Random('history')).run(60)
    await life.close()
    const { store } = await open(disk)
    expect(store.floor).toBeGreaterThan(1)
    expect(store.collection('things').history.since(store.floor - 1)).toBeUndefined()
    expect(store.collection('others').history.since(store.floor - 1)).toBeUndefined()
  })
})

test('snapshots take the place of the log: what is on the disk does not grow with what was written', async () => {
  const disk = new UnreliableDisk()
  const life = await open(disk)
  const living = new Life(life.store, new Random('size'))
  await living.run(2000)
  const names = await disk.list()
  const sizes = await Promise.all(names.map((name) => disk.size(name)))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(12 * segmentBytes)
  await life.close()
  expect(contents((await open(disk)).store)).toEqual(living.states.get(living.store.version))
})

describe('what the disk refuses', () => {
  /** A store with one object, on a working disk. */
  async function begin() {
    const disk = new UnreliableDisk()
    const clock = new ManualClock()
    const { store, close } = await open(disk, clock)
    const kept = store.create('things', thing('kept', 1), rules)!
    await store.settled()
    const heard: string[] = []
    store.subscribe('things', ({ type, current, version }) => heard.push(`${type} ${current.name} ${version}`))
    return { disk, clock, store, close, kept, heard }
  }

  const cases: ReadonlyArray<[string, Operation, string, number]> = [
    ['no room for any of it', 'write', 'ENOSPC', 0],
    ['no room for the second half of it', 'write', 'ENOSPC', 10],
    ['a sync that fails', 'sync', 'EIO', 0],
  ]

  test.each(cases)('%s: has never happened, and can be tried again', async (_, operation, code, taken) => {
    const { disk, clock, store, kept, heard } = await begin()
    let bytesLeft = taken
    disk.fault = (one) => {
      if (one !== operation && one !== 'create') return undefined
      if (one === 'write' && bytesLeft > 0) return bytesLeft-- && 1
      throw problem(code)
    }
    const before = contents(store)
    store.create('things', thing('new', 1), rules)
    store.remove(kept)
    await expect(store.settled()).rejects.toMatchObject({ code: 500, message: expect.stringContaining(code) })
    expect(contents(store)).toEqual(before)
    expect(store.version).toBe(2)
    expect(store.collection('things').history.since(2)).toEqual([])
    expect(heard).toEqual([])
    // Nothing is accepted until the disk works again, which is checked once a second.
    expect(() => store.remove(kept)).toThrow('cannot be kept')
    await clock.advance(2000)
    expect(() => store.remove(kept)).toThrow('cannot be kept')
    disk.fault = () => undefined
    await clock.advance(1000)
    // Listeners are notified of the objects whose changes were rolled back.
    expect(heard.splice(0).sort()).toEqual(['DELETED new 0', 'MODIFIED kept 0'])
    store.create('things', thing('next', 1), rules)
    await store.settled()
    expect(heard).toEqual(['ADDED next 3'])
    for (const found of [disk.afterCrash(), disk.afterCrash(() => 0.1), disk.afterCrash(() => 0.9)]) {
      const again = (await open(found)).store
      expect(contents(again)).toEqual(contents(store))
      expect(again.version).toBe(3)
    }
  })

  test.each<[string, Operation, RegExp]>([
    ['a file that cannot be made', 'create', /log$/],
    ['names that cannot be synced', 'syncNames', /^$/],
  ])('%s: nothing of it is found later', async (_, operation, names) => {
    const disk = new UnreliableDisk()
    const clock = new ManualClock()
    const { store } = await open(disk, clock)
    let failures = 2
    disk.fault = (one, name) => {
      if (one === operation && names.test(name) && failures-- > 0) throw problem('EIO')
    }
    store.create('things', thing('refused', 1), rules)
    await expect(store.settled()).rejects.toMatchObject({ code: 500 })
    expect(contents((await open(disk.afterCrash())).store)).toEqual({})
    await clock.advance(2000)
    store.create('things', thing('taken', 1), rules)
    await store.settled()
    expect(Object.keys(contents((await open(disk.afterCrash())).store))).toEqual(['taken'])
  })

  test('even where what was refused cannot be taken off the disk again, it is not found', async () => {
    const { disk, clock, store, kept } = await begin()
    let isBroken = true
    disk.fault = (operation) => {
      if (isBroken && (operation === 'sync' || operation === 'truncate')) throw problem('EIO')
    }
    store.remove(kept)
    await expect(store.settled()).rejects.toMatchObject({ code: 500 })
    isBroken = false
    await settle()
    await clock.advance(1000)
    store.create('things', thing('next', 1), rules)
    await store.settled()
    expect(Object.keys(contents((await open(disk.afterCrash())).store)).sort()).toEqual(['kept', 'next'])
  })

  test('a snapshot that cannot be written leaves the log as it is', async () => {
    const disk = new UnreliableDisk()
    const life = await open(disk)
    disk.fault = (operation, name) => {
      if (operation === 'write' && name.includes('snapshot')) throw problem('ENOSPC')
    }
    const living = new Life(life.store, new Random('no snapshot'))
    await living.run(200)
    expect((await disk.list()).filter((name) => name.includes('snapshot'))).toEqual([])
    expect(contents((await open(disk.afterCrash())).store)).toEqual(living.states.get(living.store.version))
  })

  test('short writes are no failure', async () => {
    const disk = new UnreliableDisk()
    disk.fault = (operation) => (operation === 'write' ? 7 : undefined)
    const life = await open(disk)
    const living = new Life(life.store, new Random('short'))
    await living.run(50)
    expect(contents((await open(disk.afterCrash())).store)).toEqual(living.states.get(living.store.version))
  })

  test('a server that stops keeps what waits, and then takes nothing more', async () => {
    const { disk, store, close, kept } = await begin()
    store.remove(kept)
    await close()
    expect(contents((await open(disk)).store)).toEqual({})
    expect(() => store.create('things', thing('late', 1), rules)).toThrow('the server has stopped')
  })
})
