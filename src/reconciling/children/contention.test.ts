import { expect, test } from 'vitest'
import { type Contention, isContended, isOver, reactToContention, settledMs } from './contention.ts'

/** Another manager changes the child repeatedly, `everyMs` after each correction; returns the delays of the corrections. */
function fight(everyMs: number, times: number): number[] {
  let record: Contention | undefined
  let nowMs = 0
  return Array.from({ length: times }, () => {
    nowMs += everyMs
    const { fight: next, waitMs } = reactToContention(record, 'a and b', nowMs)
    nowMs += waitMs
    record = waitMs === 0 ? next : reactToContention(next, 'a and b', nowMs).fight
    return waitMs
  })
}

test('drift is corrected at once a few times, and then after longer and longer pauses', () => {
  expect(fight(10, 8)).toEqual([0, 0, 0, 1000, 2000, 4000, 8000, 16_000])
  expect(fight(10, 20).at(-1)).toBe(300_000)
})

test('an occasional change by another manager is not contention', () => {
  expect(fight(700_000, 6)).toEqual([0, 0, 0, 0, 0, 0])
})

test('a correction that is delayed by contention is not counted again', () => {
  let record: Contention | undefined
  for (let time = 0; time < 3; time += 1) record = reactToContention(record, 'a and b', time).fight
  const held = reactToContention(record, 'a and b', 10)
  expect(held).toMatchObject({ waitMs: 1000, isNew: true })
  expect(reactToContention(held.fight, 'a and b', 500)).toMatchObject({ waitMs: 510, isNew: false })
  expect(reactToContention(held.fight, 'a and b', 1010)).toMatchObject({ waitMs: 0, isNew: false })
})

test('contention is over after a quiet time without changes', () => {
  const record: Contention = { times: 5, words: '', putBackMs: 0, heldUntilMs: undefined }
  expect(isContended(record)).toBe(true)
  expect(isOver(record, settledMs(record, 0) - 1)).toBe(false)
  expect(isOver(record, settledMs(record, 0))).toBe(true)
  expect(isOver({ ...record, heldUntilMs: 1 }, 10_000_000)).toBe(false)
})
