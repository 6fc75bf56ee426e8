/** Finalizers on bodies, also on bodies that are not what they should be. */
import { expect, test } from 'vitest'
import { allowDeletion, blockDeletion, isDeletionBlocked, isDeletionOngoing } from './finalizers.ts'

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
])('deletion of %j is blocked by us: %s', (body, expected) => {
  expect(isDeletionBlocked(body, ours)).toBe(expected)
})

test.each<[string, object, object]>([
  ['appends to the others', { metadata: { finalizers: ['a'] } }, { metadata: { finalizers: ['a', ours] } }],
  ['appends once', { metadata: { finalizers: [ours, 'a'] } }, { metadata: { finalizers: [ours, 'a'] } }],
  ['begins a list', { metadata: { name: 'x' } }, { metadata: { name: 'x', finalizers: [ours] } }],
  ['begins where null was', { metadata: { finalizers: null } }, { metadata: { finalizers: [ours] } }],
  ['begins the metadata', {}, { metadata: { finalizers: [ours] } }],
])('blocking %s', (_, body, expected) => {
  blockDeletion(body, ours)
  expect(body).toEqual(expected)
})

test.each<[string, object, object]>([
  ['removes every occurrence', { metadata: { finalizers: [ours, 'a', ours] } }, { metadata: { finalizers: ['a'] } }],
  ['removes the list it empties', { metadata: { name: 'x', finalizers: [ours] } }, { metadata: { name: 'x' } }],
  ['removes a list that was empty', { metadata: { name: 'x', finalizers: [] } }, { metadata: { name: 'x' } }],
  ['removes the metadata it empties', { metadata: { finalizers: [ours] } }, {}],
  ['leaves the others alone', { metadata: { finalizers: ['a', 'b'] } }, { metadata: { finalizers: ['a', 'b'] } }],
  ['leaves nothing as it is', {}, {}],
])('allowing %s', (_, body, expected) => {
  allowDeletion(body, ours)
  expect(body).toEqual(expected)
})

test('a hundred thousand finalizers are removed in no time', () => {
  const body = { metadata: { finalizers: Array.from({ length: 100_000 }, (_, at) => (at % 2 ? ours : `f${at}`)) } }
  allowDeletion(body, ours)
  expect(body.metadata.finalizers).toHaveLength(50_000)
})
