import { expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { AnswerCache } from './answer-cache.ts'

function setUp(limits: { maxAnswers?: number; maxRunning?: number } = {}) {
  const clock = new ManualClock()
  const asked: string[] = []
  const cache = new AnswerCache<boolean>({
    clock,
    isPositive: (answer) => answer,
    positiveMs: 300,
    negativeMs: 30,
    maxAnswers: limits.maxAnswers ?? 10,
    maxRunning: limits.maxRunning ?? 10,
    onBusy: () => {
      throw new Error('busy')
    },
  })
  const get = (key: string, answer: boolean | Promise<boolean>) =>
    cache.get(key, async () => {
      asked.push(key)
      return answer
    })
  return { clock, asked, get }
}

test('a positive answer is kept for its time, and a negative one for a shorter time', async () => {
  const { clock, asked, get } = setUp()
  expect([await get('a', true), await get('b', false)]).toEqual([true, false])
  await clock.advance(29)
  expect([await get('a', false), await get('b', true)]).toEqual([true, false])
  await clock.advance(1)
  expect([await get('a', false), await get('b', true)]).toEqual([true, true])
  await clock.advance(270)
  expect(await get('a', false)).toBe(false)
  expect(asked).toEqual(['a', 'b', 'b', 'a'])
})

test('equal questions at the same time are asked once, and a failure is not kept', async () => {
  const { asked, get } = setUp()
  const failing = Promise.reject(new Error('down'))
  failing.catch(() => {})
  const both = await Promise.allSettled([get('a', failing), get('a', true)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await get('a', true)).toBe(true)
  expect(asked).toEqual(['a', 'a'])
})

test('many negative answers drop old negative answers only', async () => {
  const { asked, get } = setUp({ maxAnswers: 2 })
  for (const key of ['yes', 'no-1', 'no-2', 'no-3']) await get(key, key === 'yes')
  expect(asked.length).toBe(4)
  await get('yes', false)
  expect(asked.length).toBe(4)
  await get('no-1', false)
  expect(asked.length).toBe(5)
})

test('more questions at the same time than the limit are refused', async () => {
  const { get } = setUp({ maxRunning: 2 })
  let answer = (_: boolean) => {}
  const pending = new Promise<boolean>((resolve) => {
    answer = resolve
  })
  const running = [get('a', pending), get('b', pending)]
  await expect(get('c', true)).rejects.toThrow('busy')
  answer(true)
  expect(await Promise.all(running)).toEqual([true, true])
  expect(await get('c', true)).toBe(true)
})
