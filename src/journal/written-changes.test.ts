import { expect, test } from 'vitest'
import { isFinalizerOnly } from './written-changes.ts'

const change = (path: string, by?: string) => ({ operation: 'add', path, ...(by !== undefined && { by }) }) as const

test.each([
  ['the first finalizer', [change('metadata.finalizers')], 0, true],
  ['one of several finalizers', [change('metadata.finalizers[1]')], 0, true],
  ['a finalizer that a handler has set', [change('metadata.finalizers', 'own')], 0, false],
  ['a finalizer and another field', [change('metadata.finalizers'), change('status.phase')], 0, false],
  ['a finalizer and fields that are not listed', [change('metadata.finalizers')], 1, false],
  ['a field with a similar name', [change('metadata.finalizersOfOthers')], 0, false],
  ['nothing', [], 0, false],
])('whether a write of %s concerns only finalizers', (_, changes, moreChanges, expected) => {
  expect(isFinalizerOnly({ changes, moreChanges })).toBe(expected)
})
