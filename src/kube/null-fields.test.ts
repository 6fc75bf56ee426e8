import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import { dropNullFields, type JsonObject } from './objects.ts'

const nulls = { labels: null, annotations: null, finalizers: null, ownerReferences: null, managedFields: null }

test.each<[string, JsonObject, JsonObject]>([
  [
    'an empty list',
    { kind: 'WidgetList', items: null, metadata: { resourceVersion: '1', continue: null } },
    { kind: 'WidgetList', items: [], metadata: { resourceVersion: '1' } },
  ],
  [
    'a list of objects',
    { kind: 'PartialObjectMetadataList', items: [{ metadata: { name: 'a', ...nulls } }, null] },
    { kind: 'PartialObjectMetadataList', items: [{ metadata: { name: 'a' } }, null] },
  ],
  ['an object', { kind: 'Widget', metadata: { name: 'a', ...nulls } }, { kind: 'Widget', metadata: { name: 'a' } }],
  // Users own these fields, so that null in them may be meaningful.
  [
    'null in other fields of an object',
    { kind: 'Widget', items: null, spec: null },
    { kind: 'Widget', items: null, spec: null },
  ],
  ['no metadata', { kind: 'Widget', metadata: null }, { kind: 'Widget', metadata: null }],
])('a response with %s is read without nulls in items and metadata', (_, answer, expected) => {
  expect(dropNullFields(answer)).toEqual(expected)
})

test('metadata without null stays the same object', () => {
  const metadata = { name: 'a', labels: {} }
  expect(dropNullFields({ kind: 'Widget', metadata })['metadata']).toBe(metadata)
})

test('the cost of dropping null fields grows linearly with the number of objects', async () => {
  await expectLinearGrowth({
    n: 5000,
    prepare: (n): JsonObject => ({
      kind: 'WidgetList',
      items: Array.from({ length: n }, (_, index) => ({ metadata: { name: `w-${index}`, ...nulls } })),
    }),
    run: (list) => void dropNullFields(list),
  })
})
