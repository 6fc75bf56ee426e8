import { describe, expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import { FairScheduler, type Priority, type Slot, type SlotLimits } from './fair-scheduling.ts'

function limits(workers: number, slowWorkers = Infinity): SlotLimits {
  return { workers, slowWorkers, reserved: Math.floor(workers / 4) }
}

function add(scheduler: FairScheduler<string>, group: string, count: number, priority: Priority = 'now'): void {
  for (let index = 0; index < count; index += 1) scheduler.wait(`${group}${index}`, group, { priority, nowMs: index })
}

/** Takes all keys that the limits allow, and returns them in order. */
function beginAll(scheduler: FairScheduler<string>, given: SlotLimits): Slot<string>[] {
  const begun: Slot<string>[] = []
  for (let slot = scheduler.next(given); slot !== undefined; slot = scheduler.next(given)) begun.push(slot)
  return begun
}

const keysOf = (begun: readonly Slot<string>[]) => begun.map(({ key }) => key)

describe('fair scheduler', () => {
  test('the fair scheduler alternates between the groups, and is first come, first served within a group', () => {
    const scheduler = new FairScheduler<string>()
    add(scheduler, 'a', 4)
    add(scheduler, 'b', 2)
    add(scheduler, 'c', 1)
    expect(keysOf(beginAll(scheduler, limits(Infinity)))).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
  })

  test('a key of a new group is next, however many keys wait in other groups', () => {
    const scheduler = new FairScheduler<string>()
    add(scheduler, 'a', 1000)
    const [first] = beginAll(scheduler, limits(1))
    add(scheduler, 'b', 1)
    scheduler.leave(first!)
    const [second] = beginAll(scheduler, limits(1))
    scheduler.leave(second!)
    expect([second!.key, scheduler.next(limits(1))!.key].sort()).toEqual(['a1', 'b0'])
  })

  test('the last quarter of the workers is reserved for groups that have less than their share', () => {
    const scheduler = new FairScheduler<string>()
    add(scheduler, 'a', 200)
    const ofA = beginAll(scheduler, limits(64))
    expect(ofA).toHaveLength(48)
    add(scheduler, 'b', 200)
    expect(keysOf(beginAll(scheduler, limits(64)))).toEqual(Array.from({ length: 16 }, (_, index) => `b${index}`))
    // A third group gets the next free worker, before groups that have more workers.
    add(scheduler, 'c', 1)
    expect(scheduler.next(limits(64))).toBeUndefined()
    scheduler.leave(ofA[0]!)
    expect(keysOf(beginAll(scheduler, limits(64)))).toEqual(['c0'])
  })

  test('a single group can take all workers if none are reserved', () => {
    const scheduler = new FairScheduler<string>()
    add(scheduler, 'a', 200)
    expect(beginAll(scheduler, { ...limits(64), reserved: 0 })).toHaveLength(64)
  })

  test.each([1, 2, 3])('the fair scheduler never exceeds the limit of %s', (workers) => {
    const scheduler = new FairScheduler<string>()
    for (const group of ['a', 'b', 'c']) add(scheduler, group, 5)
    expect(beginAll(scheduler, limits(workers))).toHaveLength(workers)
  })

  test('the fair scheduler takes no key while the limit is 0', () => {
    const scheduler = new FairScheduler<string>()
    add(scheduler, 'a', 1)
    expect(scheduler.next(limits(0))).toBeUndefined()
    expect(scheduler.next(limits(1))?.key).toBe('a0')
  })

  test('keys of the backlog come after keys with current events, but do not starve', () => {
    const scheduler = new FairScheduler<string>()
    add(scheduler, 'old', 2, 'backlog')
    add(scheduler, 'new', 40)
    const begun = keysOf(beginAll(scheduler, limits(Infinity)))
    expect([begun.indexOf('old0'), begun.indexOf('old1')]).toEqual([16, 33])
  })

  test('the fair scheduler knows how long the oldest key waits, in any order of keys', () => {
    const scheduler = new FairScheduler<string>()
    const oldest = scheduler.wait('a', 'a', { priority: 'backlog', nowMs: 5 })
    scheduler.wait('b', 'b', { priority: 'now', nowMs: 7 })
    scheduler.promote(oldest)
    expect([scheduler.waiting, scheduler.waitingSinceMs]).toEqual([2, 5])
    scheduler.leave(oldest)
    expect([scheduler.waiting, scheduler.waitingSinceMs]).toEqual([1, 7])
  })
})

test('a group without any worker is starved, and a group that waits for its own workers is not', () => {
  const scheduler = new FairScheduler<string>()
  add(scheduler, 'busy', 3)
  const [first] = beginAll(scheduler, limits(1))
  expect([scheduler.waitingSinceMs, scheduler.starvedSinceMs]).toEqual([1, undefined])
  scheduler.wait('late', 'idle', { priority: 'backlog', nowMs: 9 })
  expect(scheduler.starvedSinceMs).toBe(9)
  scheduler.markSlow(first!, limits(1))
  expect(scheduler.starvedSinceMs).toBe(9)
  expect(keysOf(beginAll(scheduler, limits(1)))).toHaveLength(1)
})

describe('slow keys', () => {
  test('slow keys make room for other keys, up to half of the slow limit per group', () => {
    const scheduler = new FairScheduler<string>()
    const given = limits(4, 8)
    add(scheduler, 'a', 100)
    const slow: boolean[] = []
    for (let round = 0; round < 4; round += 1) {
      for (const slot of beginAll(scheduler, given)) slow.push(scheduler.markSlow(slot, given))
    }
    expect(slow.filter((isSlow) => isSlow)).toHaveLength(4)
    add(scheduler, 'b', 1)
    expect(keysOf(beginAll(scheduler, given))).toEqual(['b0'])
  })

  test('keys beyond the slow limit become slow when a slow key of their group ends', () => {
    const scheduler = new FairScheduler<string>()
    const given = limits(1, 2)
    add(scheduler, 'a', 3)
    const first = scheduler.next(given)!
    expect(scheduler.markSlow(first, given)).toBe(true)
    expect(scheduler.markSlow(first, given)).toBe(true)
    const second = scheduler.next(given)!
    expect(scheduler.markSlow(second, given)).toBe(false)
    expect(scheduler.next(given)).toBeUndefined()
    scheduler.leave(first)
    expect(second.state).toBe('slow')
    expect(scheduler.next(given)?.key).toBe('a2')
  })

  test('slow keys are limited across all groups', () => {
    const scheduler = new FairScheduler<string>()
    const given = limits(6, 4)
    const slow = ['a', 'b', 'c'].flatMap((group) => {
      add(scheduler, group, 2)
      return beginAll(scheduler, given).map((slot) => scheduler.markSlow(slot, given))
    })
    expect(slow).toEqual([true, true, true, true, false, false])
  })
})

/** Takes and ends all waiting keys with the default limits. */
function runThrough(scheduler: FairScheduler<string>): void {
  const active = beginAll(scheduler, limits(64))
  for (let slot = active.pop(); slot !== undefined; slot = active.pop()) {
    scheduler.leave(slot)
    active.push(...beginAll(scheduler, limits(64)))
  }
  expect(scheduler.waiting).toBe(0)
}

test.each<[string, (index: number) => string]>([
  ['in one group', () => 'a'],
  ['in a group each', (index) => `g${index}`],
  ['in a hundred groups', (index) => `g${index % 100}`],
])('the cost of the fair scheduler grows linearly with the number of keys %s', async (_, groupOf) => {
  await expectLinearGrowth({
    n: 5000,
    maxRatio: 12,
    prepare: (n) => {
      const scheduler = new FairScheduler<string>()
      for (let index = 0; index < n; index += 1) {
        scheduler.wait(`${index}`, groupOf(index), { priority: 'backlog', nowMs: index })
      }
      return scheduler
    },
    run: runThrough,
  })
})
