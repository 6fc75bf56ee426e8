import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../../test/support/growth.ts'
import { MemoryBudget, type MemoryReservation } from './memory-budget.ts'

/** A budget of 640 bytes: reservations up to 10 bytes are small, and all other reservations share at most 480 bytes. */
function start() {
  const budget = new MemoryBudget(640)
  const active: string[] = []
  const reserve = (name: string, bytes: number, address = name) =>
    budget.reserve(bytes, address, () => void active.push(name))
  return { budget, active, reserve }
}

test('memory reservations are active while there is memory, and later when others end', () => {
  const { budget, active, reserve } = start()
  const first = reserve('first', 300)
  reserve('second', 300)
  expect(active).toEqual(['first'])
  budget.release(first)
  expect(active).toEqual(['first', 'second'])
  budget.release(first)
  expect(active).toEqual(['first', 'second'])
})

test('small memory reservations are active while large ones wait', () => {
  const { active, reserve } = start()
  reserve('large', 480)
  reserve('waiting', 300)
  reserve('small', 10)
  expect(active).toEqual(['large', 'small'])
})

test('memory reservations of one address leave memory for others, also if they are small', () => {
  const { active, reserve } = start()
  for (let count = 0; count < 100; count += 1) reserve(`${count}`, 10, 'one')
  expect(active).toHaveLength(48)
  reserve('other', 10)
  expect(active).toHaveLength(49)
})

test('a memory reservation that is released before it was active is forgotten', () => {
  const { budget, active, reserve } = start()
  const first = reserve('first', 480)
  budget.release(reserve('second', 300))
  budget.release(first)
  expect(active).toEqual(['first'])
})

test('more than 256 waiting memory reservations are refused', () => {
  const { reserve } = start()
  reserve('large', 480)
  for (let count = 0; count < 256; count += 1) reserve(`${count}`, 300)
  expect(() => reserve('last', 300)).toThrow('too many large requests at once')
})

test('the time for n memory reservations is linear', async () => {
  await expectLinearGrowth({
    n: 2000,
    prepare: (n) => n,
    run: (n) => {
      const budget = new MemoryBudget(640)
      const open: MemoryReservation[] = []
      for (let count = 0; count < n; count += 1) {
        open.push(budget.reserve(20, `address-${count % 50}`, () => {}))
        if (open.length > 100) budget.release(open.shift()!)
      }
    },
  })
})
