/** Finalizers on bodies, including malformed bodies. */
import { expect, test } from 'vitest'
import { addFinalizer, hasFinalizer, isDeletionOngoing, removeFinalizer } from './finalizers.ts'

const ours = 'kopf.zalando.org/KopfFinalizerMarker'

test.each<[object, boolean]>([
  [{}, false],
  [{ metadata: null }, false],
  [{ metadata: {} }, false],
  [{ metadata: { deletionTimestamp: null } }, false],
  [{ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }, true],
  [{ metadata: Object.create({ deletionTimestamp: 'inherited' }) }, false],
])('deletion of %j is ongoing: %s', (body, expected) => {
  expect(isDeletionOngoing(body)).toBe(expected)
})

test.each<[object, boolean]>([
  [{}, false],
  [{ metadata: { finalizers: null } }, false],
  [{ metadata: { finalizers: ours } }, false],
  [{ metadata: { finalizers: [`${ours}2`] } }, false],
  [{ metadata: { finalizers: ['other', ours] } }, true],
])('the deletion of %j is blocked by our finalizer: %s', (body, expected) => {
  expect(hasFinalizer(body, ours)).toBe(expected)
})

test.each<[string, object, object]>([
  ['appends it to the others', { metadata: { finalizers: ['a'] } }, { metadata: { finalizers: ['a', ours] } }],
  ['appends it once', { metadata: { finalizers: [ours, 'a'] } }, { metadata: { finalizers: [ours, 'a'] } }],
  ['creates the list', { metadata: { name: 'x' } }, { metadata: { name: 'x', finalizers: [ours] } }],
  ['replaces null with a list', { metadata: { finalizers: null } }, { metadata: { finalizers: [ours] } }],
  ['creates the metadata', {}, { metadata: { finalizers: [ours] } }],
])('adding our finalizer %s', (_, body, expected) => {
  addFinalizer(body, ours)
  expect(body).toEqual(expected)
})

test.each<[string, object, object]>([
  ['removes every occurrence', { metadata: { finalizers: [ours, 'a', ours] } }, { metadata: { finalizers: ['a'] } }],
  [
    'removes the list if it becomes empty',
    { metadata: { name: 'x', finalizers: [ours] } },
    { metadata: { name: 'x' } },
  ],
  ['removes a list that was empty', { metadata: { name: 'x', finalizers: [] } }, { metadata: { name: 'x' } }],
  ['removes the metadata if it becomes empty', { metadata: { finalizers: [ours] } }, {}],
  ['keeps the others', { metadata: { finalizers: ['a', 'b'] } }, { metadata: { finalizers: ['a', 'b'] } }],
  ['keeps an object without finalizers unchanged', {}, {}],
])('removing our finalizer %s', (_, body, expected) => {
  removeFinalizer(body, ours)
  expect(body).toEqual(expected)
})

test('a hundred thousand finalizers are removed in linear time', () => {
  const body = { metadata: { finalizers: Array.from({ length: 100_000 }, (_, at) => (at % 2 ? ours : `f${at}`)) } }
  removeFinalizer(body, ours)
  expect(body.metadata.finalizers).toHaveLength(50_000)
})
