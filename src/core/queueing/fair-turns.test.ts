import { describe, expect, test } from 'vitest'
import { expectLinearGrowth } from '../../../test/support/growth.ts'
import { FairTurns, type Turn, type TurnLimits, type Urgency } from './fair-turns.ts'

function limits(workers: number, slowWorkers = Infinity): TurnLimits {
  return { workers, slowWorkers, reserved: Math.floor(workers / 4) }
}

function add(turns: FairTurns<string>, group: string, count: number, urgency: Urgency = 'now'): void {
  for (let index = 0; index < count; index += 1) turns.wait(`${group}${index}`, group, { urgency, nowMs: index })
}

/** All that may begin, in their order. */
function beginAll(turns: FairTurns<string>, given: TurnLimits): Turn<string>[] {
  const begun: Turn<string>[] = []
  for (let turn = turns.next(given); turn !== undefined; turn = turns.next(given)) begun.push(turn)
  return begun
}

const keysOf = (begun: readonly Turn<string>[]) => begun.map(({ key }) => key)

describe('turns', () => {
  test('go round the groups, and are first come first served within one', () => {
    const turns = new FairTurns<string>()
    add(turns, 'a', 4)
    add(turns, 'b', 2)
    add(turns, 'c', 1)
    expect(keysOf(beginAll(turns, limits(Infinity)))).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
  })

  test('of a group that comes later are next, however many wait in others', () => {
    const turns = new FairTurns<string>()
    add(turns, 'a', 1000)
    const [first] = beginAll(turns, limits(1))
    add(turns, 'b', 1)
    turns.leave(first!)
    const [second] = beginAll(turns, limits(1))
    turns.leave(second!)
    expect([second!.key, turns.next(limits(1))!.key].sort()).toEqual(['a1', 'b0'])
  })

  test('of the last quarter of the workers are for groups that have less than their share', () => {
    const turns = new FairTurns<string>()
    add(turns, 'a', 200)
    const ofA = beginAll(turns, limits(64))
    expect(ofA).toHaveLength(48)
    add(turns, 'b', 200)
    expect(keysOf(beginAll(turns, limits(64)))).toEqual(Array.from({ length: 16 }, (_, index) => `b${index}`))
    // A third group finds a worker as soon as one is free, and before those that have more.
    add(turns, 'c', 1)
    expect(turns.next(limits(64))).toBeUndefined()
    turns.leave(ofA[0]!)
    expect(keysOf(beginAll(turns, limits(64)))).toEqual(['c0'])
  })

  test('of one group that is alone can be all, where none are reserved', () => {
    const turns = new FairTurns<string>()
    add(turns, 'a', 200)
    expect(beginAll(turns, { ...limits(64), reserved: 0 })).toHaveLength(64)
  })

  test.each([1, 2, 3])('are never more than %s at once, where that is the limit', (workers) => {
    const turns = new FairTurns<string>()
    for (const group of ['a', 'b', 'c']) add(turns, group, 5)
    expect(beginAll(turns, limits(workers))).toHaveLength(workers)
  })

  test('wait while nothing may begin', () => {
    const turns = new FairTurns<string>()
    add(turns, 'a', 1)
    expect(turns.next(limits(0))).toBeUndefined()
    expect(turns.next(limits(1))?.key).toBe('a0')
  })

  test('of the backlog come after those of now, and not never', () => {
    const turns = new FairTurns<string>()
    add(turns, 'old', 2, 'backlog')
    add(turns, 'new', 40)
    const begun = keysOf(beginAll(turns, limits(Infinity)))
    expect([begun.indexOf('old0'), begun.indexOf('old1')]).toEqual([16, 33])
  })

  test('say since when the longest of them waits, in any order of turns', () => {
    const turns = new FairTurns<string>()
    const oldest = turns.wait('a', 'a', { urgency: 'backlog', nowMs: 5 })
    turns.wait('b', 'b', { urgency: 'now', nowMs: 7 })
    turns.promote(oldest)
    expect([turns.waiting, turns.waitingSinceMs]).toEqual([2, 5])
    turns.leave(oldest)
    expect([turns.waiting, turns.waitingSinceMs]).toEqual([1, 7])
  })
})

test('a group without any worker is starved; one that waits for its own workers is not', () => {
  const turns = new FairTurns<string>()
  add(turns, 'busy', 3)
  const [first] = beginAll(turns, limits(1))
  expect([turns.waitingSinceMs, turns.starvedSinceMs]).toEqual([1, undefined])
  turns.wait('late', 'idle', { urgency: 'backlog', nowMs: 9 })
  expect(turns.starvedSinceMs).toBe(9)
  turns.slowDown(first!, limits(1))
  expect(turns.starvedSinceMs).toBe(9)
  expect(keysOf(beginAll(turns, limits(1)))).toHaveLength(1)
})

describe('slow ones', () => {
  test('make room for others, up to half of their limit in one group', () => {
    const turns = new FairTurns<string>()
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

  test('that are too many become slow when one of their group ends', () => {
    const turns = new FairTurns<string>()
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

  test('are limited in all groups together', () => {
    const turns = new FairTurns<string>()
    const given = limits(6, 4)
    const slow = ['a', 'b', 'c'].flatMap((group) => {
      add(turns, group, 2)
      return beginAll(turns, given).map((turn) => turns.slowDown(turn, given))
    })
    expect(slow).toEqual([true, true, true, true, false, false])
  })
})

/** Everything that waits is begun and ended, in a pool of the default size. */
function runThrough(turns: FairTurns<string>): void {
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
])('the cost of turns is in proportion to the number of keys: %s', async (_, groupOf) => {
  await expectLinearGrowth({
    n: 5000,
    maxRatio: 12,
    prepare: (n) => {
      const turns = new FairTurns<string>()
      for (let index = 0; index < n; index += 1) {
        turns.wait(`${index}`, groupOf(index), { urgency: 'backlog', nowMs: index })
      }
      return turns
    },
    run: runThrough,
  })
})
