import { expect, test } from 'vitest'
import { expectLinearGrowth, widen } from '../../test/support/growth.ts'
import type { KubeObject } from '../kube/objects.ts'
import { createSettings } from '../settings/settings.ts'
import { isChangedByOthers } from './state-digest.ts'

const { persistence } = createSettings()
const withStatus = (status: object, labels: object = {}) => ({ metadata: { labels }, status }) as unknown as KubeObject

test.each<[string, object, object, object, boolean]>([
  ['a change by our own write alone is not foreign', {}, { a: 1 }, { a: 1 }, false],
  ['a change of a field beside our own is foreign', { z: 1 }, { z: 1, a: 1 }, { z: 1, a: 1, b: 1 }, true],
  ['another value of our own field is not foreign', {}, { a: 1 }, { a: 2 }, false],
  ['a change inside our own field is not foreign', {}, { a: { b: 1 } }, { a: { b: 1, c: 1 } }, false],
  ['a removal of the parent of our own field is not foreign', { a: 0 }, { a: { b: 1 } }, {}, false],
  ['a change without any write of ours is foreign', { a: 1 }, { a: 1 }, { a: 2 }, true],
  [
    'a change of a nested field beside our own is foreign',
    { a: { b: 1 } },
    { a: { b: 2 } },
    { a: { b: 2, c: 1 } },
    true,
  ],
])('a write is attributed by its fields: %s', (_, before, expected, after, isForeignWrite) => {
  const states = { before: withStatus(before), expected: withStatus(expected), after: withStatus(after) }
  expect(isChangedByOthers(persistence, states)).toBe(isForeignWrite)
})

test('the attribution of writes takes linear time with the number of fields', async () => {
  await expectLinearGrowth({
    n: 2000,
    prepare: (n) => ({
      before: withStatus(widen(n, { value: 1 })),
      expected: withStatus(widen(n, { value: 2 })),
      after: withStatus(widen(n, { value: 3 })),
    }),
    run: (states) => void isChangedByOthers(persistence, states),
  })
})
