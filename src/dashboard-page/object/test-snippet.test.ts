import { expect, test } from 'vitest'
import type { JournalEntry, ObjectView } from '../../dashboard/protocol.ts'
import { type CallEntry, parsePath, writeTest } from './test-snippet.ts'

const call: CallEntry = {
  id: 4,
  atMs: 0,
  type: 'handler',
  handler: 'resize',
  handlerType: 'update',
  retry: 2,
  outcome: 'retrying',
  error: 'The disk is busy\n  at somewhere',
}

const body = {
  apiVersion: 'example.com/v1',
  kind: 'Database',
  metadata: { name: 'orders', namespace: 'default', resourceVersion: '7', managedFields: [{}] },
  spec: { size: 3, users: [{ name: 'alice', role: 'reader' }] },
  status: { phase: 'Resizing' },
}

function viewOf(timeline: readonly JournalEntry[], withBody = true): ObjectView {
  return {
    object: {
      resource: 'databases.v1.example.com',
      namespace: 'default',
      name: 'orders',
      state: 'retrying',
      errors: 2,
    },
    ...(withBody && { body }),
    timeline,
    dropped: 0,
    children: [],
    log: [],
    actions: [],
  }
}

const resized: JournalEntry = {
  id: 3,
  atMs: 0,
  type: 'state',
  event: 'MODIFIED',
  changes: [{ operation: 'change', path: 'spec.size', old: '1', new: '2' }],
  moreChanges: 0,
}

const later: JournalEntry = {
  id: 5,
  atMs: 0,
  type: 'write',
  purpose: 'handling',
  requests: 1,
  changes: [
    { operation: 'add', path: 'status', new: '{"phase":"Resizing"}' },
    { operation: 'change', path: 'spec.size', old: '2', new: '3' },
    { operation: 'change', path: 'spec.users[alice].role', old: '"owner"', new: '"reader"' },
  ],
  moreChanges: 0,
}

test('the test has the object as it was before later changes, and the old fields of the change', () => {
  expect(writeTest(viewOf([resized, call, later]), call)).toBe(`import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHandler } from 'kopf/testing'
import kopf from './operator.ts'

test('resize is retried for orders at attempt 3', async () => {
  const { outcome } = await runHandler(kopf, {
    id: 'resize',
    kind: 'update',
    retry: 2,
    body: {
      apiVersion: 'example.com/v1',
      kind: 'Database',
      metadata: {
        name: 'orders',
        namespace: 'default'
      },
      spec: {
        size: 2,
        users: [
          {
            name: 'alice',
            role: 'owner'
          }
        ]
      }
    },
    old: {
      spec: {
        size: 1,
        users: [
          {
            name: 'alice',
            role: 'owner'
          }
        ]
      }
    },
  })
  assert.equal(outcome.type, 'retry')
  // The disk is busy
})
`)
})

test('values that the journal has cut or concealed are named in a comment', () => {
  const cut: JournalEntry = {
    ...later,
    changes: [{ operation: 'change', path: 'spec.size', old: '"[concealed]"', new: '3' }],
  } as JournalEntry
  expect(writeTest(viewOf([call, cut]), call)).toContain('// Not in the journal as a whole: spec.size\n')
})

test('without permission to get the object, the test has its name only', () => {
  const text = writeTest(viewOf([call], false), call)
  expect(text).toContain("    name: 'orders',\n    namespace: 'default',\n    // You may not get the object")
})

test.each([
  ['spec.size', ['spec', 'size']],
  ['metadata.annotations["a.b/c"]', ['metadata', 'annotations', 'a.b/c']],
  ['spec.users[alice].roles[0]', ['spec', 'users', 'alice', 'roles', '0']],
  ['spec.some-very-long-…', undefined],
  ['', undefined],
])('the path %s has the keys %j', (path, keys) => {
  expect(parsePath(path)).toEqual(keys)
})
