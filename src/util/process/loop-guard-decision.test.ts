import { expect, test } from 'vitest'
import { decideOnLoop, type LoopState } from './loop-guard-decision.ts'

const state: LoopState = { blockedMs: 0, sinceStopMs: undefined, signals: 0, limitMs: 5000, isReported: false }
const [wait, report] = [{ type: 'wait' }, { type: 'report' }]
const end = (reason: string) => ({ type: 'end', reason })

test.each<[string, Partial<LoopState>, object]>([
  ['a responsive loop', {}, wait],
  ['a busy loop', { blockedMs: 1500 }, wait],
  ['a blocked loop', { blockedMs: 2000 }, report],
  ['a blocked loop that was already reported', { blockedMs: 60_000, isReported: true }, wait],
  ['a stop of a responsive loop', { sinceStopMs: 60_000, signals: 1 }, wait],
  ['a stop of a loop that is blocked briefly', { blockedMs: 4500, sinceStopMs: 4000, signals: 1 }, report],
  ['a stop of a loop that stays blocked', { blockedMs: 5000, sinceStopMs: 4000, signals: 1 }, end('too-long')],
  ['a stop that was requested just now', { blockedMs: 9000, sinceStopMs: 500, isReported: true }, wait],
  ['a stop without a limit', { blockedMs: 1e6, sinceStopMs: 1e6, limitMs: undefined, isReported: true }, wait],
  ['a second signal to a blocked loop', { blockedMs: 1000, sinceStopMs: 600, signals: 2 }, end('second-signal')],
  ['a second signal to a responsive loop, which ends by itself', { sinceStopMs: 600, signals: 2 }, wait],
])('the loop guard decides on %s', (_, part, action) => {
  expect(decideOnLoop({ ...state, ...part })).toEqual(action)
})
