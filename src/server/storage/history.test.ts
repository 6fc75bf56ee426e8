import { describe, expect, test } from 'vitest'
import { History } from './history.ts'
import { type StoreChange, type Stored, toStored } from './stored.ts'

function stored(version: number, length = 10): Stored {
  const object = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' } }
  return { ...toStored('things', object, version, {}), json: 'x'.repeat(length) }
}

function change(version: number, previousLength?: number): StoreChange {
  const previous = previousLength === undefined ? undefined : stored(version - 1, previousLength)
  return { type: previous === undefined ? 'ADDED' : 'MODIFIED', version, current: stored(version), previous }
}

function filled(versions: readonly number[], limits = { changes: 100, characters: 10_000 }): History {
  const history = new History(0, limits)
  for (const version of versions) history.add(change(version))
  return history
}

const versionsOf = (changes: readonly StoreChange[] | undefined) => changes?.map(({ version }) => version)

describe('since', () => {
  test.each<[number, number[]]>([
    [0, [2, 5, 9]],
    [1, [2, 5, 9]],
    [2, [5, 9]],
    [4, [5, 9]],
    [5, [9]],
    [8, [9]],
    [9, []],
    [1000, []],
  ])('%i is everything later, oldest first', (version, expected) => {
    expect(versionsOf(filled([2, 5, 9]).since(version))).toEqual(expected)
  })

  test('is known of a collection in which nothing has happened', () => {
    expect(new History(7, { changes: 1, characters: 1 }).since(7)).toEqual([])
    expect(new History(7, { changes: 1, characters: 1 }).since(6)).toBeUndefined()
  })

  test('is a copy', () => {
    const history = filled([1])
    const before = history.since(0)
    history.add(change(2))
    expect(versionsOf(before)).toEqual([1])
  })
})

describe('limits', () => {
  test('forget the oldest changes, and say from where on everything is known', () => {
    const history = filled(
      Array.from({ length: 50 }, (_, index) => index + 1),
      { changes: 8, characters: 10_000 },
    )
    const { floor } = history
    expect(floor).toBeGreaterThanOrEqual(42)
    expect(versionsOf(history.since(floor))).toEqual(
      Array.from({ length: 50 - floor }, (_, index) => floor + 1 + index),
    )
    expect(history.since(floor - 1)).toBeUndefined()
  })

  test('keep at least three quarters of what they allow', () => {
    const history = filled(
      Array.from({ length: 1000 }, (_, index) => index + 1),
      { changes: 100, characters: 10_000 },
    )
    expect(history.since(history.floor)!.length).toBeGreaterThanOrEqual(75)
    expect(history.since(history.floor)!.length).toBeLessThanOrEqual(100)
  })

  test('count the characters of what was superseded', () => {
    const history = new History(0, { changes: 1000, characters: 1000 })
    for (let version = 1; version <= 100; version += 1) history.add(change(version, 100))
    const kept = history.since(history.floor)!
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.length).toBeLessThanOrEqual(10)
  })

  test('do not count what is alive', () => {
    const history = new History(0, { changes: 1000, characters: 10 })
    for (let version = 1; version <= 100; version += 1) history.add(change(version))
    expect(history.floor).toBe(0)
  })

  test('let go of a change that alone is too much', () => {
    const history = new History(0, { changes: 1000, characters: 10 })
    history.add(change(1, 5))
    history.add(change(2, 5000))
    expect(history.floor).toBe(2)
    expect(history.since(2)).toEqual([])
    history.add(change(3, 5))
    expect(versionsOf(history.since(2))).toEqual([3])
  })
})

describe('compaction', () => {
  test('forgets up to a version, and keeps what is later', () => {
    const history = filled([1, 2, 3, 4])
    history.compact(2)
    expect(history.floor).toBe(2)
    expect(versionsOf(history.since(2))).toEqual([3, 4])
    expect(history.since(1)).toBeUndefined()
  })

  test('never goes back', () => {
    const history = filled([1, 2, 3])
    history.compact(3)
    history.compact(1)
    expect(history.floor).toBe(3)
  })

  test('frees the characters that were counted', () => {
    const history = new History(0, { changes: 1000, characters: 1000 })
    for (let version = 1; version <= 9; version += 1) history.add(change(version, 100))
    history.compact(9)
    for (let version = 10; version <= 19; version += 1) history.add(change(version, 100))
    expect(history.floor).toBe(9)
  })
})
