import { expect, test } from 'vitest'
import type { Explanation } from '../../index.ts'
import { renderExplanation } from './explain-render.ts'

const nowMs = Date.parse('2026-01-31T12:00:05Z')

const explanation: Explanation = {
  resource: 'databases.v1.example.com',
  apiVersion: 'example.com/v1',
  kind: 'Database',
  namespace: 'default',
  name: 'orders',
  created: '2026-01-29T12:00:00Z',
  deleting: '2026-01-31T12:00:00Z',
  finalizers: [
    { name: 'a/b', isOurs: false },
    { name: 'c/d', isOurs: true },
  ],
  storage: { progress: 'annotations of c', lastHandled: 'annotations of c', finalizer: 'c/d' },
  handled: 'changed',
  changes: [
    { operation: 'change', field: ['spec', 'size'], old: 1, new: 2 },
    { operation: 'add', field: ['spec', 'text'], new: `${'long '.repeat(20)}` },
    { operation: 'remove', field: ['metadata', 'labels', 'a'], old: 'b\u001b[2J' },
  ],
  progress: [
    {
      id: 'cleanup',
      places: ['c/cleanup'],
      state: 'waiting',
      purpose: 'delete',
      retries: 1,
      started: '2026-01-31T12:00:00.123456+00:00',
      delayed: '2026-01-31T13:00:05.000000+00:00',
      message: 'busy',
      subhandlers: ['cleanup/disk'],
    },
    { id: 'odd', places: ['c/odd'], state: 'succeeded', retries: 2, started: 'some time ago', subhandlers: [] },
  ],
  annotations: [{ prefix: 'other', isOurs: false, names: ['kopf-managed'] }],
  reason: 'delete',
  decision: { type: 'handle', reason: 'delete' },
  handlers: [
    { id: 'cleanup', kind: 'delete', verdict: 'later', why: 'It waits', at: '2026-01-31T13:00:05.000000+00:00' },
    { id: 'made', kind: 'create', verdict: 'no', why: 'It is for create, and this is delete' },
  ],
  notes: ['The finalizer is added first'],
}

test('an explanation is rendered as a few lines of text', () => {
  expect(renderExplanation(explanation, { nowMs, operator: 'operator.ts' })).toBe(
    `Database default/orders (databases.v1.example.com)
  created       2026-01-29 12:00:00 UTC (2 days ago)
  deletion      asked for 12:00:00 UTC (5 seconds ago), held by our finalizer
  finalizers    a/b, c/d (ours)
  last handled  in another state than it is in now; kept in annotations of c
  progress      kept in annotations of c
  of others     other/ kopf-managed

It is being deleted, and stays until the handlers for that are done.
  change spec.size: 1 -> 2
  add spec.text: "${'long '.repeat(20).slice(0, 59)}…
  remove metadata.labels.a: "b\\u001b[2J"

Progress of handlers:
  cleanup  delete: waits until 13:00:05 UTC (in 1 hour); 1 attempt, begun 12:00:00 UTC (4 seconds ago): busy [sub-handlers: cleanup/disk]
  odd      any reason: has succeeded; 2 attempts, begun some time ago

Decision: call the handlers that are due for delete.
Handlers of operator.ts:
  later    delete "cleanup"  It waits; at 13:00:05 UTC (in 1 hour)
  no       create "made"     It is for create, and this is delete

Note: The finalizer is added first.`,
  )
})

test('the explanation of an object that was never handled says so, also without known handlers', () => {
  const fresh: Explanation = {
    ...explanation,
    reason: 'create',
    handled: 'never',
    changes: [],
    progress: [],
    notes: [],
  }
  const text = renderExplanation({ ...fresh, handlers: [] }, { nowMs, operator: undefined })
  expect(text).toContain('It was never handled: for handlers it is to be created.\n\nNo progress of any handler')
  expect(text).toContain('Name the file of the operator with --file')
  expect(renderExplanation({ ...fresh, handlers: [] }, { nowMs, operator: 'a.ts' })).toContain(
    'a.ts has no handlers for this resource.',
  )
})
