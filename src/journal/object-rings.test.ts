import { expect, test } from 'vitest'
import { ObjectRings } from './object-rings.ts'

interface Item {
  readonly n: number
}

const rings = (maxBytes = 1_000_000, entriesPerObject = 3) => new ObjectRings<Item>({ entriesPerObject, maxBytes })
const numbers = (all: ObjectRings<Item>, key: string) => all.read(key).entries.map(({ n }) => n)

test('the oldest entries of an object are dropped beyond its limit, and counted', () => {
  const all = rings()
  for (let n = 0; n < 10; n += 1) all.add('a', { n })
  expect(numbers(all, 'a')).toEqual([7, 8, 9])
  expect(all.read('a').dropped).toBe(7)
})

test('beyond the limit of bytes, the objects that were touched least recently lose their entries, and the counts stay', () => {
  const all = rings(3 * 380)
  for (const key of ['a', 'b', 'c']) all.add(key, { n: 1 })
  all.add('a', { n: 2 })
  all.add('d', { n: 1 })
  expect([numbers(all, 'a'), all.read('b'), numbers(all, 'd')]).toEqual([[1, 2], { entries: [], dropped: 1 }, [1]])
  expect(all.bytes).toBeLessThanOrEqual(3 * 380)
  all.add('b', { n: 3 })
  expect(all.read('b')).toEqual({ entries: [{ n: 3 }], dropped: 1 })
})

test('an entry is replaced in its place, and added if it was dropped', () => {
  const all = rings()
  const [first, second] = [{ n: 1 }, { n: 2 }]
  all.add('a', first)
  all.add('a', second)
  all.replace('a', first, { n: 10 })
  expect(numbers(all, 'a')).toEqual([10, 2])
  for (const n of [3, 4, 5]) all.add('a', { n })
  all.replace('a', second, { n: 20 })
  expect(numbers(all, 'a')).toEqual([4, 5, 20])
})

test('a thousand deleted objects are kept, and an object that exists again is not forgotten with them', () => {
  const all = rings()
  for (let n = 0; n < 1500; n += 1) {
    all.add(`object ${n}`, { n })
    all.markDeleted(`object ${n}`)
    if (n === 100) all.add('object 100', { n: -1 })
  }
  expect(all.size).toBe(1001)
  expect(numbers(all, 'object 100')).toEqual([100, -1])
  expect(numbers(all, 'object 499')).toEqual([])
})

test('the size in bytes is zero again when all entries are gone', () => {
  const all = rings(5000, 5)
  for (let n = 0; n < 5000; n += 1) all.add(`object ${n % 700}`, { n })
  expect(all.bytes).toBeLessThanOrEqual(5000)
  const empty = rings(0)
  for (let n = 0; n < 100; n += 1) empty.add('a', { n })
  expect([empty.bytes, empty.read('a').dropped]).toEqual([0, 100])
})
