import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../../test/support/growth.ts'
import { MemoryBudget, type MemoryClaim } from './memory-budget.ts'

/** A budget of 640 bytes: claims up to 10 bytes are small, and all other claims share at most 480 bytes. */
function start() {
  const budget = new MemoryBudget(640)
  const granted: string[] = []
  const claim = (name: string, bytes: number, address = name) =>
    budget.claim(bytes, address, () => void granted.push(name))
  return { budget, granted, claim }
}

test('memory claims are granted while there is room, and later when others end', () => {
  const { budget, granted, claim } = start()
  const first = claim('first', 300)
  claim('second', 300)
  expect(granted).toEqual(['first'])
  budget.release(first)
  expect(granted).toEqual(['first', 'second'])
  budget.release(first)
  expect(granted).toEqual(['first', 'second'])
})

test('small memory claims are granted while large ones wait', () => {
  const { granted, claim } = start()
  claim('large', 480)
  claim('waiting', 300)
  claim('small', 10)
  expect(granted).toEqual(['large', 'small'])
})

test('memory claims of one address leave room for others, also if they are small', () => {
  const { granted, claim } = start()
  for (let count = 0; count < 100; count += 1) claim(`${count}`, 10, 'one')
  expect(granted).toHaveLength(48)
  claim('other', 10)
  expect(granted).toHaveLength(49)
})

test('a memory claim that is released before it was granted is forgotten', () => {
  const { budget, granted, claim } = start()
  const first = claim('first', 480)
  budget.release(claim('second', 300))
  budget.release(first)
  expect(granted).toEqual(['first'])
})

test('more than 256 waiting memory claims are refused', () => {
  const { claim } = start()
  claim('large', 480)
  for (let count = 0; count < 256; count += 1) claim(`${count}`, 300)
  expect(() => claim('last', 300)).toThrow('too many large requests at once')
})

test('the time for n memory claims is linear', async () => {
  await expectLinearGrowth({
    n: 2000,
    prepare: (n) => n,
    run: (n) => {
      const budget = new MemoryBudget(640)
      const open: MemoryClaim[] = []
      for (let count = 0; count < n; count += 1) {
        open.push(budget.claim(20, `address-${count % 50}`, () => {}))
        if (open.length > 100) budget.release(open.shift()!)
      }
    },
  })
})
