import { expect, test } from 'vitest'
import type { JournalEntry } from '../../dashboard/protocol.ts'
import { groupTimeline, type TimelineOptions } from './timeline.ts'

const all: TimelineOptions = { isNewestFirst: false, isBrief: false }

const state = (id: number, atMs: number, ...paths: string[]): JournalEntry => ({
  id,
  atMs,
  type: 'state',
  event: 'MODIFIED',
  changes: paths.map((path) => ({ operation: 'change', path })),
  moreChanges: 0,
})

type Call = Extract<JournalEntry, { type: 'handler' }>

const call = (id: number, atMs: number, fields: Partial<Call> = {}): JournalEntry => ({
  id,
  atMs,
  type: 'handler',
  handler: 'provision',
  handlerType: 'create',
  retry: 0,
  outcome: 'succeeded',
  ...fields,
})

const fired = (id: number, atMs: number): JournalEntry => ({
  id,
  atMs,
  type: 'daemon',
  action: 'fired',
  handler: 'ping',
})

const titles = (journal: readonly JournalEntry[], options = all) =>
  groupTimeline(journal, options).map(({ title, entries }) => [title, entries.length])

test('an observed state begins a group, with the calls that follow it', () => {
  const journal = [state(1, 0, 'spec.size', 'spec.engine'), call(2, 5), call(3, 9, { handler: 'backup' }), state(4, 20)]
  expect(titles(journal)).toEqual([
    ['Changed: spec.size and 1 more', 3],
    ['Observed again', 1],
  ])
})

test('a later attempt begins a group that names it', () => {
  const journal = [state(1, 0, 'spec'), call(2, 5, { outcome: 'retrying' }), call(3, 10_005, { retry: 1 })]
  expect(titles(journal)).toEqual([
    ['Changed: spec', 2],
    ['Attempt 2 of provision', 1],
  ])
})

test('a write after a long call belongs to the group of the call', () => {
  const written: JournalEntry = {
    id: 3,
    atMs: 60_020,
    type: 'write',
    purpose: 'handling',
    requests: 1,
    changes: [],
    moreChanges: 0,
  }
  expect(titles([state(1, 0, 'spec'), call(2, 5, { durationMs: 60_000 }), written])).toEqual([['Changed: spec', 3]])
})

test('the beginning and the end of a call are one entry at the time of the beginning', () => {
  const journal = [call(1, 0, { outcome: 'running' }), fired(2, 100), call(3, 5000, { outcome: 'failed', error: 'no' })]
  const [group] = groupTimeline(journal, all)
  expect(group?.entries).toMatchObject([{ id: 1, atMs: 0, outcome: 'failed', error: 'no' }, { id: 2 }])
  expect(group?.hasErrors).toBe(true)
})

test('a call that still runs stays in the timeline', () => {
  expect(groupTimeline([call(1, 0, { outcome: 'running' })], all)[0]?.entries).toMatchObject([{ outcome: 'running' }])
})

test('the brief timeline has no ticks of timers that succeed, no repeated states, and no decisions that the next entries show', () => {
  const journal: JournalEntry[] = [
    state(1, 0),
    { id: 2, atMs: 1, type: 'decision', decision: 'ignore', reason: 'no-handlers', why: 'No handler matches' },
    fired(3, 2),
    call(5, 2, { handler: 'ping', handlerType: 'timer' }),
    { id: 4, atMs: 3, type: 'decision', decision: 'add-finalizer', reason: 'required', why: 'A handler needs it' },
  ]
  expect(titles(journal, { ...all, isBrief: true })).toEqual([['Decision', 1]])
})

test('the newest group is first, and the entries of a group keep their order', () => {
  const journal = [state(1, 0, 'a'), call(2, 1), state(3, 5000, 'b')]
  const groups = groupTimeline(journal, { ...all, isNewestFirst: true })
  expect(groups.map(({ entries }) => entries.map(({ id }) => id))).toEqual([[3], [1, 2]])
})
