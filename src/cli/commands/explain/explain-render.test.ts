import { expect, test } from 'vitest'
import type { Explanation } from '../../../index.ts'
import { createPalette } from '../../display/colours.ts'
import { renderExplanation } from './explain-render.ts'

const palette = createPalette(false)

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
  reconcilers: [],
  notes: ['The finalizer is added first'],
}

test('an explanation is rendered as a few lines of text', () => {
  expect(renderExplanation(explanation, { nowMs, operator: 'operator.ts', palette })).toBe(
    `Database default/orders (databases.v1.example.com)
  created       2026-01-29 12:00:00 UTC (2 days ago)
  deletion      requested 12:00:00 UTC (5 seconds ago), waits for this operator
  finalizers    a/b, c/d (this operator)
  last handled  in a different state; stored in annotations of c
  progress      stored in annotations of c
  of others     other/ kopf-managed

It is being deleted, and the finalizer of this operator holds it: the reason is delete.
  change spec.size: 1 -> 2
  add spec.text: "${'long '.repeat(20).slice(0, 59)}…
  remove metadata.labels.a: "b\\u001b[2J"

Progress of handlers:
  cleanup  delete: waits until 13:00:05 UTC (in 1 hour); 1 attempt, started 12:00:00 UTC (4 seconds ago): busy [sub-handlers: cleanup/disk]
  odd      any reason: has succeeded; 2 attempts, started some time ago

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
  const text = renderExplanation({ ...fresh, handlers: [] }, { nowMs, operator: undefined, palette })
  expect(text).toContain('It has not been handled yet: the reason is create.\n\nNo progress of handlers')
  expect(text).toContain('Name the file of the operator with --file')
  expect(renderExplanation({ ...fresh, handlers: [] }, { nowMs, operator: 'a.ts', palette })).toContain(
    'a.ts has no handlers for this resource.',
  )
})

test('the explanation of a reconciled object has its children with their state', () => {
  const child = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', group: 0, applied: '2026-01-31T12:00:00Z' }
  const reconciled: Explanation = {
    ...explanation,
    reconcilers: [
      {
        id: 'shop',
        owns: ['configmaps'],
        watches: ['secrets'],
        lastApplied: '2026-01-31T12:00:00Z',
        children: [
          { ...child, name: 'a', isReady: true, foreign: [] },
          { ...child, name: 'bc', isReady: false, foreign: [] },
          {
            ...child,
            name: 'd',
            isReady: false,
            foreign: [{ manager: 'k\u001b[2J', time: '2026-01-31T12:00:04Z', fields: ['data.x'] }],
          },
          { ...child, name: 'e', isReady: false, deleting: '2026-01-31T12:00:04Z', foreign: [] },
          ...Array.from({ length: 20 }, (_, n) => ({ ...child, name: `f${n}`, isReady: true, foreign: [] })),
        ],
      },
      { id: 'plain', owns: [], watches: [], resync: 90 },
    ],
    childrenApplied: {
      status: 'False',
      reason: 'ChildRefused',
      message: 'It is invalid',
      since: '2026-01-31T11:00:05Z',
    },
  }
  const lines = renderExplanation(reconciled, { nowMs, operator: 'operator.ts', palette }).split('\n')
  const from = lines.indexOf('Reconciler "shop":')
  expect(lines.slice(from, from + 9)).toEqual([
    'Reconciler "shop":',
    '  last run  not recorded; last change of a child: 12:00:00 UTC (5 seconds ago)',
    '  result    ChildrenApplied is False (ChildRefused) since 11:00:05 UTC (1 hour ago): It is invalid',
    '  next run  when the operator starts or the object, one of its configmaps, one of the secrets changes; the time is not recorded',
    '  children  24',
    '    ready     ConfigMap default/a    applied 12:00:00 UTC (5 seconds ago)',
    '    not ready ConfigMap default/bc   applied 12:00:00 UTC (5 seconds ago)',
    '    changed   ConfigMap default/d    applied 12:00:00 UTC (5 seconds ago); since then k\\u001b[2J has written data.x 12:00:04 UTC (1 second ago); not ready',
    '    deleting  ConfigMap default/e    applied 12:00:00 UTC (5 seconds ago)',
  ])
  expect(lines).toContain('    … and 4 more')
  expect(lines).toContain(
    '  next run  when the operator starts or the object changes, and at the latest 1 minute after the last one; the time is not recorded',
  )
  expect(lines).toContain('  children  it owns no kinds')
})

test('verdicts have colours on a terminal, and texts from the cluster cannot add any', () => {
  const text = renderExplanation(explanation, { nowMs, operator: 'operator.ts', palette: createPalette(true) })
  expect(text).toContain('\u001b[33mlater   \u001b[39m delete "cleanup"')
  expect(text).toContain('\u001b[2mno      \u001b[22m create "made"')
  expect(text).not.toContain('\u001b[2J')
})
