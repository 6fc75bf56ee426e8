import { expect, test } from 'vitest'
import { nextTurn } from '../util/async/clock.ts'
import { TurnBudget } from './turn-budget.ts'

test('a budget is spent after its calls, and is full again in the next turn of the event loop', async () => {
  const budget = new TurnBudget(2)
  expect([budget.isSpent(), budget.isSpent(), budget.isSpent()]).toEqual([false, false, true])
  await nextTurn()
  expect([budget.isSpent(), budget.isSpent(), budget.isSpent()]).toEqual([false, false, true])
})
