import { expect, test } from 'vitest'
import { Budget } from './budget.ts'

test('those that fit together are at work together, and the others wait for their turn in order', async () => {
  const budget = new Budget(() => 10)
  const begun: string[] = []
  const begin = async (name: string, size: number) => {
    const end = await budget.take(size)
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

test('one that is larger than the limit gets its turn alone', async () => {
  const budget = new Budget(() => 10)
  const end = await budget.take(100)
  expect(budget.isExceededBy(1)).toBe(true)
  end()
  end()
  expect(budget.isExceededBy(10)).toBe(false)
})
