import { expect, test } from 'vitest'
import type { JournalEntry } from '../../../dashboard/protocol.ts'
import { createPalette } from '../../display/colours.ts'
import { renderHistory } from './history-render.ts'

const atMs = Date.UTC(2026, 10, 20, 3, 0, 5, 123)
const object = {
  resource: 'databases.v1.example.com',
  namespace: 'shop',
  name: 'orders',
  state: 'retrying',
  errors: 1,
} as const

function render(...entries: object[]): string[] {
  const timeline = entries.map((entry, id) => ({ id, atMs, ...entry }) as JournalEntry)
  const view = { object, timeline, dropped: 0, children: [], log: [], actions: [] }
  return renderHistory(view, { nowMs: atMs, palette: createPalette(false) })
    .split('\n')
    .slice(3)
}

const state = { type: 'state', changes: [], moreChanges: 0 }
const call = { type: 'handler', handler: 'provision', handlerType: 'create', retry: 0 }

test.each<[object, string]>([
  [{ ...state, event: 'ADDED', resourceVersion: '7' }, 'Created (resource version 7).'],
  [{ ...state, event: null }, 'Listed at the start.'],
  [{ ...state, event: 'DELETED' }, 'Deleted.'],
  [
    { type: 'decision', decision: 'handle', reason: 'create', why: 'call the handlers that are due for create' },
    'Decision: call the handlers that are due for create.',
  ],
  [{ ...call, outcome: 'running' }, 'Handler "provision" (create), attempt 1: is running.'],
  [
    { ...call, outcome: 'succeeded', durationMs: 12.4 },
    'Handler "provision" (create), attempt 1: has succeeded after 12 ms.',
  ],
  [
    { ...call, retry: 2, outcome: 'retrying', durationMs: 2100, delayMs: 60_000, error: 'no quota' },
    'Handler "provision" (create), attempt 3: has failed after 2 seconds, and is called again in 1 minute: no quota.',
  ],
  [
    { ...call, outcome: 'failed', durationMs: 1, error: 'never' },
    'Handler "provision" (create), attempt 1: has failed permanently after 1 ms: never.',
  ],
  [
    { ...call, outcome: 'cancelled', durationMs: 1 },
    'Handler "provision" (create), attempt 1: was stopped with the operator after 1 ms.',
  ],
  [
    { type: 'write', purpose: 'handling', requests: 2, changes: [], moreChanges: 0 },
    'Written after the handlers, with 2 requests.',
  ],
  [
    { type: 'write', purpose: 'handling', requests: 1, only: 'finalizer', changes: [], moreChanges: 0 },
    'Written: the finalizer, with 1 request.',
  ],
  [
    { type: 'child', action: 'applied', child: { resource: 'pods.v1', namespace: 'shop', name: 'web' } },
    'Child applied: pods.v1 shop/web.',
  ],
  [
    { type: 'event', eventType: 'Normal', reason: 'Made', message: 'all is well' },
    'Event posted: Normal Made: all is well',
  ],
  [
    { type: 'daemon', action: 'fired', handler: 'tick', latenessMs: 30 },
    'Timer "tick" was due 30 ms ago, and is called.',
  ],
  [{ type: 'error', error: 'a bug' }, 'Error of the framework: a bug'],
  [{ type: 'action', action: 'retry', user: 'ann' }, 'The user "ann" has asked for "retry".'],
  [{ type: 'error', error: 'red \u001b[31mtext' }, 'Error of the framework: red \\u001b[31mtext'],
])('the entry %j is one line', (entry, line) => {
  expect(render(entry)).toEqual([`03:00:05.123  ${line}`])
})

test('changes are listed below their entry, with the handler that has written them', () => {
  const changes = [
    { operation: 'add', path: 'status.phase', new: '"Ready"', by: 'provision' },
    { operation: 'change', path: 'spec.size', old: '1', new: '2' },
    { operation: 'remove', path: 'spec.old', old: 'true' },
  ]
  expect(render({ ...state, event: 'MODIFIED', changes, moreChanges: 1 }).slice(1)).toEqual([
    '                add status.phase: "Ready"  (by "provision")',
    '                change spec.size: 1 -> 2',
    '                remove spec.old: true',
    '                … and 1 other change',
  ])
})
