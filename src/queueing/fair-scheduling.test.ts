import { describe, expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import { FairScheduler, type Priority, type Slot, type SlotLimits } from './fair-scheduling.ts'

function limits(workers: number, slowWorkers = Infinity): SlotLimits {
  return { workers, slowWorkers, reserved: Math.floor(workers / 4) }
}

function add(turns: FairScheduler<string>, group: string, count: number, urgency: Priority = 'now'): void {
  for (let index = 0; index < count; index += 1) turns.wait(`${group}${index}`, group, { urgency, nowMs: index })
}

/** Starts all turns that the limits allow, and returns them in order. */
function beginAll(turns: FairScheduler<string>, given: SlotLimits): Slot<string>[] {
  const begun: Slot<string>[] = []
  for (let turn = turns.next(given); turn !== undefined; turn = turns.next(given)) begun.push(turn)
  return begun
}

const keysOf = (begun: readonly Slot<string>[]) => begun.map(({ key }) => key)

describe('fair turns', () => {
  test('fair turns alternate between the groups, and are first come, first served within a group', () => {
    const turns = new FairScheduler<string>()
    add(turns, 'a', 4)
    add(turns, 'b', 2)
    add(turns, 'c', 1)
    expect(keysOf(beginAll(turns, limits(Infinity)))).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
  })

  test('the turn of a new group is next, however many keys wait in other groups', () => {
    const turns = new FairScheduler<string>()
    add(turns, 'a', 1000)
    const [first] = beginAll(turns, limits(1))
    add(turns, 'b', 1)
    turns.leave(first!)
    const [second] = beginAll(turns, limits(1))
    turns.leave(second!)
    expect([second!.key, turns.next(limits(1))!.key].sort()).toEqual(['a1', 'b0'])
  })

  test('the last quarter of the turns is reserved for groups that have less than their share', () => {
    const turns = new FairScheduler<string>()
    add(turns, 'a', 200)
    const ofA = beginAll(turns, limits(64))
    expect(ofA).toHaveLength(48)
    add(turns, 'b', 200)
    expect(keysOf(beginAll(turns, limits(64)))).toEqual(Array.from({ length: 16 }, (_, index) => `b${index}`))
    // A third group gets the next free worker, before groups that have more workers.
    add(turns, 'c', 1)
    expect(turns.next(limits(64))).toBeUndefined()
    turns.leave(ofA[0]!)
    expect(keysOf(beginAll(turns, limits(64)))).toEqual(['c0'])
  })

  test('a single group can take all turns if none are reserved', () => {
    const turns = new FairScheduler<string>()
    add(turns, 'a', 200)
    expect(beginAll(turns, { ...limits(64), reserved: 0 })).toHaveLength(64)
  })

  test.each([1, 2, 3])('fair turns never exceed the limit of %s', (workers) => {
    const turns = new FairScheduler<string>()
    for (const group of ['a', 'b', 'c']) add(turns, group, 5)
    expect(beginAll(turns, limits(workers))).toHaveLength(workers)
  })

  test('fair turns wait while the limit is 0', () => {
    const turns = new FairScheduler<string>()
    add(turns, 'a', 1)
    expect(turns.next(limits(0))).toBeUndefined()
    expect(turns.next(limits(1))?.key).toBe('a0')
  })

  test('fair turns of the backlog follow those of current events, but do not starve', () => {
    const turns = new FairScheduler<string>()
    add(turns, 'old', 2, 'backlog')
    add(turns, 'new', 40)
    const begun = keysOf(beginAll(turns, limits(Infinity)))
    expect([begun.indexOf('old0'), begun.indexOf('old1')]).toEqual([16, 33])
  })

  test('fair turns know how long the oldest key waits, in any order of turns', () => {
    const turns = new FairScheduler<string>()
    const oldest = turns.wait('a', 'a', { urgency: 'backlog', nowMs: 5 })
    turns.wait('b', 'b', { urgency: 'now', nowMs: 7 })
    turns.promote(oldest)
    expect([turns.waiting, turns.waitingSinceMs]).toEqual([2, 5])
    turns.leave(oldest)
    expect([turns.waiting, turns.waitingSinceMs]).toEqual([1, 7])
  })
})

test('a group without any worker is starved, and a group that waits for its own workers is not', () => {
  const turns = new FairScheduler<string>()
  add(turns, 'busy', 3)
  const [first] = beginAll(turns, limits(1))
  expect([turns.waitingSinceMs, turns.starvedSinceMs]).toEqual([1, undefined])
  turns.wait('late', 'idle', { urgency: 'backlog', nowMs: 9 })
  expect(turns.starvedSinceMs).toBe(9)
  turns.slowDown(first!, limits(1))
  expect(turns.starvedSinceMs).toBe(9)
  expect(keysOf(beginAll(turns, limits(1)))).toHaveLength(1)
})

describe('slow turns', () => {
  test('slow turns make room for other turns, up to half of the slow limit per group', () => {
    const turns = new FairScheduler<string>()
    const given = limits(4, 8)
    add(turns, 'a', 100)
    const slow: boolean[] = []
    for (let round = 0; round < 4; round += 1) {
      for (const turn of beginAll(turns, given)) slow.push(turns.slowDown(turn, given))
    }
    expect(slow.filter((isSlow) => isSlow)).toHaveLength(4)
    add(turns, 'b', 1)
    expect(keysOf(beginAll(turns, given))).toEqual(['b0'])
  })

  test('turns beyond the slow limit become slow when a slow turn of their group ends', () => {
    const turns = new FairScheduler<string>()
    const given = limits(1, 2)
    add(turns, 'a', 3)
    const first = turns.next(given)!
    expect(turns.slowDown(first, given)).toBe(true)
    expect(turns.slowDown(first, given)).toBe(true)
    const second = turns.next(given)!
    expect(turns.slowDown(second, given)).toBe(false)
    expect(turns.next(given)).toBeUndefined()
    turns.leave(first)
    expect(second.state).toBe('slow')
    expect(turns.next(given)?.key).toBe('a2')
  })

  test('slow turns are limited across all groups', () => {
    const turns = new FairScheduler<string>()
    const given = limits(6, 4)
    const slow = ['a', 'b', 'c'].flatMap((group) => {
      add(turns, group, 2)
      return beginAll(turns, given).map((turn) => turns.slowDown(turn, given))
    })
    expect(slow).toEqual([true, true, true, true, false, false])
  })
})

/** Starts and ends all waiting turns with the default limits. */
function runThrough(turns: FairScheduler<string>): void {
  const active = beginAll(turns, limits(64))
  for (let turn = active.pop(); turn !== undefined; turn = active.pop()) {
    turns.leave(turn)
    active.push(...beginAll(turns, limits(64)))
  }
  expect(turns.waiting).toBe(0)
}

test.each<[string, (index: number) => string]>([
  ['in one group', () => 'a'],
  ['in a group each', (index) => `g${index}`],
  ['in a hundred groups', (index) => `g${index % 100}`],
])('the cost of fair turns grows linearly with the number of keys %s', async (_, groupOf) => {
  await expectLinearGrowth({
    n: 5000,
    maxRatio: 12,
    prepare: (n) => {
      const turns = new FairScheduler<string>()
      for (let index = 0; index < n; index += 1) {
        turns.wait(`${index}`, groupOf(index), { urgency: 'backlog', nowMs: index })
      }
      return turns
    },
    run: runThrough,
  })
})
