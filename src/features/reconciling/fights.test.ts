import { expect, test } from 'vitest'
import { type Fight, isFight, isOver, peaceMs, react } from './fights.ts'

/** Somebody changes the child so long after it was put back, again and again. */
function fight(everyMs: number, times: number): number[] {
  let record: Fight | undefined
  let nowMs = 0
  return Array.from({ length: times }, () => {
    nowMs += everyMs
    const { fight: next, waitMs } = react(record, 'a and b', nowMs)
    nowMs += waitMs
    record = waitMs === 0 ? next : react(next, 'a and b', nowMs).fight
    return waitMs
  })
}

test('what others change is put back at once, a few times, and then later and later', () => {
  expect(fight(10, 8)).toEqual([0, 0, 0, 1000, 2000, 4000, 8000, 16_000])
  expect(fight(10, 20).at(-1)).toBe(300_000)
})

test('whoever changes something now and then is no rival', () => {
  expect(fight(700_000, 6)).toEqual([0, 0, 0, 0, 0, 0])
})

test('while it is held, looking at it does not count', () => {
  let record: Fight | undefined
  for (let time = 0; time < 3; time += 1) record = react(record, 'a and b', time).fight
  const held = react(record, 'a and b', 10)
  expect(held).toMatchObject({ waitMs: 1000, isNew: true })
  expect(react(held.fight, 'a and b', 500)).toMatchObject({ waitMs: 510, isNew: false })
  expect(react(held.fight, 'a and b', 1010)).toMatchObject({ waitMs: 0, isNew: false })
})

test('it is over when nobody has changed anything for a while', () => {
  const record: Fight = { times: 5, words: '', putBackMs: 0, heldUntilMs: undefined }
  expect(isFight(record)).toBe(true)
  expect(isOver(record, peaceMs(record, 0) - 1)).toBe(false)
  expect(isOver(record, peaceMs(record, 0))).toBe(true)
  expect(isOver({ ...record, heldUntilMs: 1 }, 10_000_000)).toBe(false)
})
