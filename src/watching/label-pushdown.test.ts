import { describe, expect, test } from 'vitest'
import type { Resource } from '../kube/resources/resources.ts'
import { type LabelPattern, type SelectorSettings, sharedSelectors } from './label-pushdown.ts'

const resource = { plural: 'gadgets' } as Resource
const none: SelectorSettings = {
  labelSelectors: { match: () => [] },
  fieldSelectors: { match: () => [] },
  shardSelectors: { match: () => [] },
}

type Labels = Readonly<Record<string, LabelPattern>> | undefined

const a = { equals: 'a' }
const b = { equals: 'b' }

const cases: ReadonlyArray<[string, readonly Labels[], string | undefined]> = [
  ['no handlers', [], undefined],
  ['a handler without labels', [undefined], undefined],
  ['a handler with an empty filter', [{}], undefined],
  ['one value', [{ k: a }], 'k=a'],
  ['the same value twice', [{ k: a }, { k: a }], 'k=a'],
  ['different values, sorted', [{ k: b }, { k: a }, { k: b }], 'k in (a,b)'],
  ['presence', [{ k: 'present' }, { k: 'present' }], 'k'],
  ['absence', [{ k: 'absent' }, { k: 'absent' }], '!k'],
  ['a value and presence', [{ k: a }, { k: 'present' }], 'k'],
  ['a value and absence', [{ k: a }, { k: 'absent' }], undefined],
  ['presence and absence', [{ k: 'present' }, { k: 'absent' }], undefined],
  ['a callback', [{ k: 'unknown' }], undefined],
  ['a value and a callback', [{ k: a }, { k: 'unknown' }], undefined],
  ['several keys, sorted', [{ z: a, b: 'present', c: 'absent' }], '!c,b,z=a'],
  [
    'only the keys that all have',
    [
      { k: a, x: a },
      { k: a, y: b },
    ],
    'k=a',
  ],
  ['no key that all have', [{ x: a }, { y: a }], undefined],
  ['one handler without labels among others', [{ k: a }, undefined], undefined],
  ['an empty value', [{ k: { equals: '' } }], 'k='],
  ['an empty value among others', [{ k: { equals: '' } }, { k: a }], 'k in (,a)'],
  ['a key with a prefix', [{ 'example.com/k': a }], 'example.com/k=a'],
  ['a value that no label can have', [{ k: { equals: 'a,b' } }, { k: a }], undefined],
  ['a value that is too long', [{ k: { equals: 'x'.repeat(64) } }], undefined],
  ['a value as long as it may be', [{ k: { equals: 'x'.repeat(63) } }], `k=${'x'.repeat(63)}`],
  ['keys that no label can have', [{ 'a b': a, '': a, 'a/b/c': a, '/x': a, 'UP/x': a, '-x': a }], undefined],
  ['a key that every JavaScript object has', [{ constructor: a }], 'constructor=a'],
  ['a key that every JavaScript object has, in one handler only', [{ constructor: a }, { k: a }], undefined],
  ['many values', [...Array(21).keys()].map((value) => ({ k: { equals: `v${value}` } })), 'k'],
]

describe('label selector shared by handlers', () => {
  test.each(cases)('the label selector of a watch is derived from %s', (_, labels, expected) => {
    const handlers = labels.map((one) => ({ labels: one }))
    expect(sharedSelectors(handlers, none, resource).labelSelector).toBe(expected)
  })
})

test('selectors of the settings are joined, sorted and deduplicated, and only one shard selector is used', () => {
  const settings: SelectorSettings = {
    labelSelectors: { match: ({ plural }) => (plural === 'gadgets' ? ['team=x', 'k=a', 'app'] : []) },
    fieldSelectors: { match: () => ['metadata.name=b', 'metadata.name=a', 'metadata.name=b'] },
    shardSelectors: { match: () => ['first', 'second'] },
  }
  expect(sharedSelectors([{ labels: { k: a } }], settings, resource)).toEqual({
    labelSelector: 'app,k=a,team=x',
    fieldSelector: 'metadata.name=a,metadata.name=b',
    shardSelector: 'first',
  })
})

test('a watch without any filter has no selectors', () => {
  expect(sharedSelectors([{ labels: undefined }], none, resource)).toEqual({})
})
