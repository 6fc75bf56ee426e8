import { describe, expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import { PersistentMap } from './persistent-map.ts'

const many = Array.from({ length: 2500 }, (_, index) => `key-${index}`)

function fill(keys: readonly string[]): PersistentMap<number> {
  return keys.reduce((map, key, index) => map.with(key, index), PersistentMap.empty<number>())
}

describe('a persistent map', () => {
  test('a map returns its entries in the order of insertion', () => {
    expect([...fill(many).entries()]).toEqual(many.map((key, index) => [key, index]))
  })

  test('a changed map leaves the original as it was', () => {
    const original = fill(['a', 'b'])
    const changed = original.with('a', 9).with('c', 3).without('b')
    expect([...original.entries()]).toEqual([
      ['a', 0],
      ['b', 1],
    ])
    expect([...changed.entries()]).toEqual([
      ['a', 9],
      ['c', 3],
    ])
    expect([original.size, changed.size]).toEqual([2, 2])
    expect([original.has('c'), changed.has('b')]).toEqual([false, false])
  })

  test('two maps that come from one map do not see each other’s keys', () => {
    const base = fill(['a'])
    const [left, right] = [base.with('left', 1), base.with('right', 2)]
    expect([left.get('right'), right.get('left')]).toEqual([undefined, undefined])
    expect([left.get('left'), right.get('right'), base.size]).toEqual([1, 2, 1])
  })

  test('a removed key can be added again', () => {
    const map = fill(['a', 'b']).without('a').with('a', 5)
    expect([map.get('a'), map.size]).toEqual([5, 2])
  })

  test('a map of many entries can be changed at every position', () => {
    const original = fill(many)
    const changed = many.reduce((map, key) => map.with(key, -1), original)
    expect(new Set([...changed.entries()].map(([, value]) => value))).toEqual(new Set([-1]))
    expect([...original.entries()].at(-1)).toEqual([many.at(-1), many.length - 1])
  })

  test('removing an unknown key returns the same map', () => {
    const map = fill(['a'])
    expect(map.without('b')).toBe(map)
  })
})

test('the cost of filling a persistent map grows linearly with its size', async () => {
  await expectLinearGrowth({
    n: 20_000,
    prepare: (n) => Array.from({ length: n }, (_, index) => `key-${index}`),
    run: (keys) => void fill(keys),
  })
})
