import { expect, test } from 'vitest'
import { type Contention, isContended, isOver, reactToContention, remainingQuietMs } from './contention.ts'

/** Another manager changes the child repeatedly, `everyMs` after each correction; returns the delays of the corrections. */
function restoreDelays(everyMs: number, times: number): number[] {
  let record: Contention | undefined
  let nowMs = 0
  return Array.from({ length: times }, () => {
    nowMs += everyMs
    const { contention: next, waitMs } = reactToContention(record, 'a and b', nowMs)
    nowMs += waitMs
    record = waitMs === 0 ? next : reactToContention(next, 'a and b', nowMs).contention
    return waitMs
  })
}

test('drift is corrected at once a few times, and then after longer and longer pauses', () => {
  expect(restoreDelays(10, 8)).toEqual([0, 0, 0, 1000, 2000, 4000, 8000, 16_000])
  expect(restoreDelays(10, 20).at(-1)).toBe(300_000)
})

test('an occasional change by another manager is not contention', () => {
  expect(restoreDelays(700_000, 6)).toEqual([0, 0, 0, 0, 0, 0])
})

test('a correction that is delayed by contention is not counted again', () => {
  let record: Contention | undefined
  for (let time = 0; time < 3; time += 1) record = reactToContention(record, 'a and b', time).contention
  const held = reactToContention(record, 'a and b', 10)
  expect(held).toMatchObject({ waitMs: 1000, isNew: true })
  expect(reactToContention(held.contention, 'a and b', 500)).toMatchObject({ waitMs: 510, isNew: false })
  expect(reactToContention(held.contention, 'a and b', 1010)).toMatchObject({ waitMs: 0, isNew: false })
})

test('contention is over after a quiet time without changes', () => {
  const record: Contention = { times: 5, message: '', lastRestoreMs: 0, pausedUntilMs: undefined }
  expect(isContended(record)).toBe(true)
  expect(isOver(record, remainingQuietMs(record, 0) - 1)).toBe(false)
  expect(isOver(record, remainingQuietMs(record, 0))).toBe(true)
  expect(isOver({ ...record, pausedUntilMs: 1 }, 10_000_000)).toBe(false)
})
