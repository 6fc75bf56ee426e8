import { expect, test } from 'vitest'
import { expectLinearGrowth, widen } from '../../../test/support/growth.ts'
import { createSettings } from '../../core/settings.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isForeign } from './seen.ts'

const { persistence } = createSettings()
const withStatus = (status: object, labels: object = {}) => ({ metadata: { labels }, status }) as unknown as KubeObject

test.each<[string, object, object, object, boolean]>([
  ['nothing but our own write is not foreign', {}, { a: 1 }, { a: 1 }, false],
  ['a field beside the one that we wrote is foreign', { z: 1 }, { z: 1, a: 1 }, { z: 1, a: 1, b: 1 }, true],
  ['another value of the field that we wrote is not foreign', {}, { a: 1 }, { a: 2 }, false],
  ['a field within the one that we wrote is not foreign', {}, { a: { b: 1 } }, { a: { b: 1, c: 1 } }, false],
  ['the loss of the parent of what we wrote is not foreign', { a: 0 }, { a: { b: 1 } }, {}, false],
  ['a change without any write of ours is foreign', { a: 1 }, { a: 1 }, { a: 2 }, true],
  [
    'a field beside one that we wrote further down is foreign',
    { a: { b: 1 } },
    { a: { b: 2 } },
    { a: { b: 2, c: 1 } },
    true,
  ],
])('%s', (_, before, expected, after, isForeignWrite) => {
  const states = { before: withStatus(before), expected: withStatus(expected), after: withStatus(after) }
  expect(isForeign(persistence, states)).toBe(isForeignWrite)
})

test('finding out who wrote grows linearly with the number of fields', async () => {
  await expectLinearGrowth({
    n: 2000,
    prepare: (n) => ({
      before: withStatus(widen(n, { value: 1 })),
      expected: withStatus(widen(n, { value: 2 })),
      after: withStatus(widen(n, { value: 3 })),
    }),
    run: (states) => void isForeign(persistence, states),
  })
})
