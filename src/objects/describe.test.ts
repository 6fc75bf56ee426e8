import { expect, test } from 'vitest'
import type { DiffTuple } from '../causation/cause.ts'
import { describeDiff, describeState } from './describe.ts'

test.each<[readonly DiffTuple[], string]>([
  [[['change', ['spec', 'password'], 'canary', 'canary2']], 'change spec.password'],
  [
    [
      ['add', ['spec'], undefined, { password: 'canary' }],
      ['remove', ['data'], { token: 'canary' }, undefined],
    ],
    'add spec, remove data',
  ],
  [[['change', [], 'canary', 'canary2']], 'change the whole object'],
])('a diff is described by its fields, without values: case %#', (diff, words) => {
  expect(describeDiff(diff)).toBe(words)
})

test('the description of a diff is bounded in items, depth and length', () => {
  const deep = Array.from({ length: 9000 }, () => 'k'.repeat(100))
  const diff: readonly DiffTuple[] = Array.from({ length: 5000 }, () => ['change', deep, 1, 2] as const)
  const words = describeDiff(diff)
  expect(words.length).toBeLessThan(6000)
  expect(words).toMatch(/ and 4980 more$/)
})

test('the state of an object is described by its versions alone', () => {
  const metadata = { name: 'one', annotations: { secret: 'canary' }, generation: 2, resourceVersion: '1043' }
  expect(describeState({ apiVersion: 'v1', kind: 'Secret', metadata })).toBe('generation 2, resourceVersion 1043')
  expect(describeState({ apiVersion: 'v1', kind: 'Secret', metadata: {} })).toBe('resourceVersion unknown')
})
