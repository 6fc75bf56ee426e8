import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sortStable } from './stable-sort.ts'

test('sorts as any stable sort does, where the order is one', () => {
  const element = fc.record({ key: fc.integer({ min: 0, max: 20 }), position: fc.nat() })
  fc.assert(
    fc.property(fc.array(element, { maxLength: 200 }), (list) => {
      const sorted = [...list]
      sortStable(sorted, (one, other) => one.key < other.key)
      expect(sorted).toEqual(list.toSorted((one, other) => one.key - other.key))
    }),
  )
})

test('turns around what precedes everything, in blocks of twenty', () => {
  const list = Array.from({ length: 5 }, (_, index) => index)
  sortStable(list, () => true)
  expect(list).toEqual([4, 3, 2, 1, 0])
})

test('comes to an end with orders that are none, however long the list', () => {
  const list = Array.from({ length: 50_000 }, (_, index) => index)
  let comparisons = 0
  sortStable(list, () => {
    comparisons += 1
    return true
  })
  expect(list.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 50_000 }, (_, index) => index))
  expect(comparisons).toBeLessThan(50_000 * 20 * 20)
})
