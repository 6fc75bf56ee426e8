import { expect, test } from 'vitest'
import { compareStates } from './field-changes.ts'

const state = (fields: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Database',
  metadata: { name: 'x' },
  ...fields,
})

test.each<[string, object, object, unknown[]]>([
  [
    'a changed number',
    { spec: { size: 1 } },
    { spec: { size: 2 } },
    [{ operation: 'change', path: 'spec.size', old: '1', new: '2' }],
  ],
  ['an added object', { spec: {} }, { spec: { a: { b: 1 } } }, [{ operation: 'add', path: 'spec.a', new: '{"b":1}' }]],
  ['a removed text', { spec: { a: 'x' } }, { spec: {} }, [{ operation: 'remove', path: 'spec.a', old: '"x"' }]],
  [
    'a key with dots',
    { spec: { a: { 'x.y/z': 1 } } },
    { spec: { a: { 'x.y/z': 2 } } },
    [{ operation: 'change', path: 'spec.a["x.y/z"]', old: '1', new: '2' }],
  ],
  [
    'a condition',
    { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
    {
      status: {
        conditions: [
          { type: 'Done', status: 'True' },
          { type: 'Ready', status: 'True' },
        ],
      },
    },
    [
      { operation: 'add', path: 'status.conditions[Done]', new: '{"type":"Done","status":"True"}' },
      { operation: 'change', path: 'status.conditions[Ready].status', old: '"False"', new: '"True"' },
    ],
  ],
  [
    'an item of a plain list',
    { spec: { a: [1, 2] } },
    { spec: { a: [1, 3] } },
    [{ operation: 'change', path: 'spec.a[1]', old: '2', new: '3' }],
  ],
  [
    'a password',
    { spec: { password: 'hunter22' } },
    { spec: { password: 'hunter23' } },
    [{ operation: 'change', path: 'spec.password', old: '[concealed]', new: '[concealed]' }],
  ],
  [
    'a password in the environment of a container',
    { spec: { env: [{ name: 'DB_PASSWORD', value: 'hunter22' }] } },
    { spec: { env: [{ name: 'DB_PASSWORD', value: 'hunter23' }] } },
    [{ operation: 'change', path: 'spec.env[DB_PASSWORD].value', old: '[concealed]', new: '[concealed]' }],
  ],
  ['null and a missing field', { spec: { a: null } }, { spec: {} }, []],
  ['the same values', { spec: { a: [1] } }, { spec: { a: [1] } }, []],
  [
    'the resource version',
    { metadata: { resourceVersion: '1', generation: 1 } },
    { metadata: { resourceVersion: '2', generation: 2 } },
    [],
  ],
  [
    'an own field called __proto__',
    JSON.parse('{"spec":{"__proto__":1}}'),
    JSON.parse('{"spec":{"__proto__":2}}'),
    [{ operation: 'change', path: 'spec.__proto__', old: '1', new: '2' }],
  ],
])('the comparison of states shows %s', (_, before, after, changes) => {
  expect(compareStates(state(before), state(after))).toEqual({ changes, moreChanges: 0 })
})

test('the values and annotations of a Secret are concealed, and their keys are shown', () => {
  const secret = (value: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { annotations: { note: value } },
    data: { user: value },
  })
  const hidden = { operation: 'change', old: '[concealed]', new: '[concealed]' }
  expect(compareStates(secret('aHVudGVyMjI='), secret('aHVudGVyMjM=')).changes).toEqual([
    { ...hidden, path: 'metadata.annotations.note' },
    { ...hidden, path: 'data.user' },
  ])
})

test('of many changes, twenty are listed and the others are counted', () => {
  const many = (value: number) => ({
    spec: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, value])),
  })
  const { changes, moreChanges } = compareStates(state(many(1)), state(many(2)))
  expect([changes.length, moreChanges]).toEqual([20, 80])
})

test('an object with a hundred thousand levels is compared', () => {
  const deep = (value: number) => {
    let inner: unknown = value
    for (let level = 0; level < 100_000; level += 1) inner = { a: inner }
    return { spec: inner }
  }
  expect(compareStates(state(deep(1)), state(deep(2))).changes).toHaveLength(1)
})
