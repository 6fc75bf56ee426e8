import { expect, test } from 'vitest'
import { expectLinearGrowth, nest } from '../../../test/support/growth.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { formatPath } from './field-sets.ts'
import { digestDrift, findDrift } from './value-drift.ts'

function driftOf(desired: JsonObject, live: JsonObject, owned: JsonObject): string[] {
  return findDrift(desired, live as unknown as KubeObject, owned).map(({ path }) => formatPath(path))
}

const ports = { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:name': {} } }

test.each<[string, JsonObject, JsonObject, JsonObject, string[]]>([
  ['the same value', { data: { a: '1' } }, { data: { a: '1' } }, { 'f:data': { 'f:a': {} } }, []],
  ['another value', { data: { a: '1' } }, { data: { a: '2' } }, { 'f:data': { 'f:a': {} } }, ['data.a']],
  ['a value that was removed', { data: { a: '1' } }, { data: {} }, { 'f:data': { 'f:a': {} } }, ['data.a']],
  ['a value of another manager', { data: { a: '1' } }, { data: { a: '2' } }, { 'f:data': { 'f:b': {} } }, []],
  [
    'a value that another manager added',
    { data: { a: '1' } },
    { data: { a: '1', b: '2' } },
    { 'f:data': { 'f:a': {} } },
    [],
  ],
  ['omitted empty values', { spec: { a: '', b: [], c: {}, d: false } }, { spec: {} }, whole('abcd'), []],
  ['null', { spec: { a: null } }, { spec: { a: 1 } }, whole('a'), []],
  ['an integer beyond 2^53', { spec: { a: 2 ** 60 } }, { spec: { a: 1152921504606846976n as never } }, whole('a'), []],
  ['a quantity in canonical form', { spec: { a: '0.5Gi', b: 1 } }, { spec: { a: '512Mi', b: '1' } }, whole('ab'), []],
  ['another quantity', { spec: { a: '0.5' } }, { spec: { a: '501m' } }, whole('a'), ['spec.a']],
  [
    'a text that looks like a quantity',
    { data: { a: '1.0' } },
    { data: { a: '1' } },
    { 'f:data': { 'f:a': {} } },
    ['data.a'],
  ],
  [
    'a list item by its keys, at any position, without a defaulted key',
    { spec: { ports: [{ port: 80, name: 'web' }] } },
    { spec: { ports: [{ port: 1 }, { port: 80, protocol: 'TCP', name: 'web' }] } },
    { 'f:spec': { 'f:ports': ports } },
    [],
  ],
  [
    'another value in a list item',
    { spec: { ports: [{ port: 80, name: 'web' }] } },
    { spec: { ports: [{ port: 80, protocol: 'TCP', name: 'other' }] } },
    { 'f:spec': { 'f:ports': ports } },
    ['spec.ports[web].name'],
  ],
  [
    'a value that was removed from a set',
    { metadata: { finalizers: ['a', 'b'] } },
    { metadata: { finalizers: ['b', 'c'] } },
    { 'f:metadata': { 'f:finalizers': { '.': {}, 'v:"a"': {}, 'v:"b"': {} } } },
    ['metadata.finalizers[a]'],
  ],
  ['an atomic list with defaults', { spec: { a: [{ x: 1 }] } }, { spec: { a: [{ x: 1, y: 2 }] } }, whole('a'), []],
  ['an atomic list of another length', { spec: { a: [1] } }, { spec: { a: [1, 2] } }, whole('a'), ['spec.a']],
  ['an object instead of a text', { spec: { a: 'x' } }, { spec: { a: { b: 1 } } }, whole('a'), ['spec.a']],
])('drift detection evaluates %s', (_, desired, live, owned, paths) => {
  expect(driftOf(desired, live, owned)).toEqual(paths)
})

/** Managed fields for atomic fields of the spec. */
function whole(names: string): JsonObject {
  return { 'f:spec': Object.fromEntries([...names].map((name) => [`f:${name}`, {}])) }
}

test('the digest of drift depends on the values in the cluster, but not on the order of fields', () => {
  const digest = (live: JsonObject, desired: JsonObject = { spec: { a: 1, b: 1 } }) =>
    digestDrift(findDrift(desired, live as unknown as KubeObject, whole('ab')))
  expect(digest({ spec: { a: 2, b: 3 } })).toBe(digest({ spec: { b: 3, a: 2 } }, { spec: { b: 1, a: 1 } }))
  expect(digest({ spec: { a: 2, b: 3 } })).not.toBe(digest({ spec: { a: 3, b: 2 } }))
})

test('the cost of drift detection grows linearly with the depth and with the length of lists', async () => {
  const keyed = (n: number, name: string) => ({
    desired: { spec: { list: Array.from({ length: n }, (_, index) => ({ id: index, name: 'x' })) } },
    live: { spec: { list: Array.from({ length: n }, (_, index) => ({ id: n - index - 1, name })) } },
    owned: {
      'f:spec': {
        'f:list': Object.fromEntries(Array.from({ length: n }, (_, index) => [`k:{"id":${index}}`, { 'f:name': {} }])),
      },
    },
  })
  await expectLinearGrowth({
    n: 1000,
    prepare: (n) => keyed(n, 'y'),
    run: ({ desired, live, owned }) => void findDrift(desired as never, live as never, owned as never),
  })
  await expectLinearGrowth({
    n: 2000,
    prepare: (n) => ({
      desired: { spec: nest(n, 1) },
      live: { spec: nest(n, 2) },
      owned: { 'f:spec': nest(n, {}, 'f:a') },
    }),
    run: ({ desired, live, owned }) => void findDrift(desired as never, live as never, owned as never),
  })
})
