import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import { type Claim, MemoryBudget } from './memory-budget.ts'

/** Of 640 bytes: small are up to 10, large ones take at most 480 in all. */
function start() {
  const budget = new MemoryBudget(640)
  const granted: string[] = []
  const claim = (name: string, bytes: number, address = name) =>
    budget.claim(bytes, address, () => void granted.push(name))
  return { budget, granted, claim }
}

test('claims are granted for as long as there is room, and later when others end', () => {
  const { budget, granted, claim } = start()
  const first = claim('first', 300)
  claim('second', 300)
  expect(granted).toEqual(['first'])
  budget.release(first)
  expect(granted).toEqual(['first', 'second'])
  budget.release(first)
  expect(granted).toEqual(['first', 'second'])
})

test('small claims are granted while large ones wait', () => {
  const { granted, claim } = start()
  claim('large', 480)
  claim('waiting', 300)
  claim('small', 10)
  expect(granted).toEqual(['large', 'small'])
})

test('one address leaves room for others, also with small claims', () => {
  const { granted, claim } = start()
  for (let count = 0; count < 100; count += 1) claim(`${count}`, 10, 'one')
  expect(granted).toHaveLength(48)
  claim('other', 10)
  expect(granted).toHaveLength(49)
})

test('a claim that is released before it was granted is forgotten', () => {
  const { budget, granted, claim } = start()
  const first = claim('first', 480)
  budget.release(claim('second', 300))
  budget.release(first)
  expect(granted).toEqual(['first'])
})

test('no more than 256 wait', () => {
  const { claim } = start()
  claim('large', 480)
  for (let count = 0; count < 256; count += 1) claim(`${count}`, 300)
  expect(() => claim('last', 300)).toThrow('too many large requests at once')
})

test('the time for n claims is linear', async () => {
  await expectLinearGrowth({
    n: 2000,
    prepare: (n) => n,
    run: (n) => {
      const budget = new MemoryBudget(640)
      const open: Claim[] = []
      for (let count = 0; count < n; count += 1) {
        open.push(budget.claim(20, `address-${count % 50}`, () => {}))
        if (open.length > 100) budget.release(open.shift()!)
      }
    },
  })
})
