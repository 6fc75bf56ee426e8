import { expect, test } from 'vitest'
import { Budget } from './budget.ts'

test('a budget admits work that fits together, and the others wait in order', async () => {
  const budget = new Budget(() => 10)
  const begun: string[] = []
  const begin = async (name: string, size: number) => {
    const end = await budget.acquire(size)
    begun.push(name)
    return end
  }
  const first = await begin('first', 6)
  const second = await begin('second', 4)
  const third = begin('third', 5)
  const fourth = begin('fourth', 1)
  expect(budget.isExceededBy(1)).toBe(true)
  second()
  await new Promise(setImmediate)
  expect(begun).toEqual(['first', 'second'])
  first()
  await Promise.all([third, fourth])
  expect(begun).toEqual(['first', 'second', 'third', 'fourth'])
})

test('a budget admits work above the limit alone', async () => {
  const budget = new Budget(() => 10)
  const end = await budget.acquire(100)
  expect(budget.isExceededBy(1)).toBe(true)
  end()
  end()
  expect(budget.isExceededBy(10)).toBe(false)
})
