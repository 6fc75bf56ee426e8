import { describe, expect, test } from 'vitest'
import { expectLinearGrowth, nest, widen } from '../../../test/support/growth.ts'
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { entriesOf, fieldsOf, formatPath, ownsField } from './field-sets.ts'

/** Managed fields of a Deployment as written by the API server. */
const fieldsV1 = {
  'f:metadata': {
    'f:labels': { 'f:app': {}, 'f:example.com/tier': {} },
    'f:ownerReferences': { 'k:{"uid":"u1"}': {} },
  },
  'f:spec': {
    'f:selector': {},
    'f:template': {
      'f:spec': {
        'f:containers': {
          'k:{"name":"app"}': {
            '.': {},
            'f:args': {},
            'f:image': {},
            'f:name': {},
            'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
          },
        },
        'f:volumes': { 'k:{"name":"tmp"}': { '.': {}, 'f:emptyDir': {}, 'f:name': {} } },
      },
    },
  },
  'f:finalizers': { 'v:"example.com/held"': {} },
}

const live = {
  metadata: { managedFields: [{ manager: 'kopf', operation: 'Apply', fieldsV1 }] },
} as unknown as KubeObject

const container = (fields: JsonObject): JsonObject => ({
  spec: { template: { spec: { containers: [{ name: 'app', ...fields }] } } },
})

test.each<[string, JsonObject, string[]]>([
  [
    'a name and a kind, which have no manager',
    { apiVersion: 'v1', kind: 'X', metadata: { name: 'a', namespace: 'b' } },
    [],
  ],
  ['labels one by one', { metadata: { labels: { app: 'x', other: 'y' } } }, ['metadata.labels.other']],
  ['keys with dots and slashes', { metadata: { labels: { 'example.com/tier': 'x' } } }, []],
  ['an owner reference by its uid', { metadata: { ownerReferences: [{ uid: 'u1', name: 'x' }] } }, []],
  ['another owner reference', { metadata: { ownerReferences: [{ uid: 'u2' }] } }, ['metadata.ownerReferences[0].uid']],
  ['a field that is owned as a whole', { spec: { selector: { matchLabels: { any: 'thing' } } } }, []],
  ['a list that is owned as a whole', container({ args: ['a', 'b'] }), []],
  ['list items by their keys', container({ image: 'x' }), []],
  [
    'a field of a list item that another manager took',
    container({ tty: true }),
    ['spec.template.spec.containers[app].tty'],
  ],
  ['list keys that the server defaults', container({ ports: [{ containerPort: 80 }] }), []],
  [
    'list keys that differ',
    container({ ports: [{ containerPort: 80, protocol: 'UDP' }] }),
    [
      'spec.template.spec.containers[app].ports[0].containerPort',
      'spec.template.spec.containers[app].ports[0].protocol',
    ],
  ],
  ['empty objects', { spec: { template: { spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } } } }, []],
  ['list items by their values', { finalizers: ['example.com/held', 'x'] }, ['finalizers[x]']],
  ['null, which is not a value', { spec: { replicas: null } }, []],
  ['a field that is in no managed fields', { data: { color: 'red' } }, ['data.color']],
])('the lost fields of a manager are determined for %s', (_, object, lost) => {
  expect(lostOf(object, live)).toEqual(lost)
})

describe('growth of lost fields', () => {
  const lists: ReadonlyArray<readonly [string, (index: number) => Json, (item: Json, index: number) => string]> = [
    ['with a list by its keys', (index) => ({ name: `n${index}`, x: 1 }), (item) => `k:${keysOf(item, 'name')}`],
    ['with a list by its values', (index) => `n${index}`, (item) => `v:${JSON.stringify(item)}`],
    ['with a list by its positions', (index) => `n${index}`, (_, index) => `i:${index}`],
    [
      'with a list whose items leave out a key',
      (index) => ({ port: index, x: 1 }),
      (item) => `k:${JSON.stringify({ ...(item as object), x: undefined, protocol: 'TCP' })}`,
    ],
    [
      'with a list whose names are forged to have different keys',
      (index) => ({ name: `n${index}` }),
      (_, index) => `k:{"k${index}":1}`,
    ],
  ]

  test.each(lists)('the lost fields of a manager are found in linear time %s', async (_, makeItem, nameOf) => {
    await expectLinearGrowth({
      n: 1000,
      prepare: (n) => {
        const list = Array.from({ length: n }, (__, index) => makeItem(index))
        const fields = Object.fromEntries(list.map((item, index) => [nameOf(item, index), { '.': {}, 'f:name': {} }]))
        return { object: { spec: { list } }, live: managed({ 'f:spec': { 'f:list': fields } }) }
      },
      run: ({ object, live: child }) => void lostOf(object, child),
    })
  })

  const ladder = (levels: number, prefix = ''): JsonObject => {
    let inner: JsonObject = {}
    for (let level = 0; level < levels; level += 1) inner = { [`${prefix}x`]: {}, [`${prefix}a`]: inner }
    return inner
  }

  test('the lost fields of a manager are found in linear time with the depth of an object', async () => {
    await expectLinearGrowth({
      n: 2500,
      prepare: (n) => ({ object: ladder(n), live: managed({ 'f:y': {}, ...ladder(n, 'f:') }) }),
      run: ({ object, live: child }) => void lostOf(object, child),
    })
  })

  test('the lost fields of a manager are found in linear time with fields below a long key', async () => {
    await expectLinearGrowth({
      n: 2500,
      prepare: (n) => ({ object: { ['k'.repeat(50 * n)]: widen(n) as JsonObject }, live: managed({ 'f:y': {} }) }),
      run: ({ object, live: child }) => void lostOf(object, child),
    })
  })
})

test('long paths of lost fields are cut and still differ', () => {
  const texts = lostOf(nest(200, { x: 1, y: 1 }, 'abc') as JsonObject, managed({ 'f:y': {} }))
  expect(texts).toHaveLength(2)
  expect(texts[0]).toMatch(/^abc\.abc\..*…[\w-]{22}$/)
  expect(texts[0]).toHaveLength(250)
  expect(texts[0]).not.toBe(texts[1])
})

function managed(fields: JsonObject): KubeObject {
  const entry = { manager: 'kopf', operation: 'Apply', fieldsV1: fields }
  return { metadata: { managedFields: [entry] } } as unknown as KubeObject
}

function lostOf(object: JsonObject, child: KubeObject): string[] {
  const [entry] = entriesOf(child)
  return fieldsOf(object)
    .filter((path) => !ownsField(entry!, path))
    .map(formatPath)
}

function keysOf(item: Json, ...names: string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, (item as JsonObject)[name]])))
}
