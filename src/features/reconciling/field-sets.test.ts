import { describe, expect, test } from 'vitest'
import { expectLinearGrowth, nest, widen } from '../../../test/support/growth.ts'
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { entriesOf, fieldsOf, formatPath, owns } from './field-sets.ts'

/** As the API server has written them, for a Deployment. */
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
  ['its name and kind are nobody’s', { apiVersion: 'v1', kind: 'X', metadata: { name: 'a', namespace: 'b' } }, []],
  ['labels, one by one', { metadata: { labels: { app: 'x', other: 'y' } } }, ['metadata.labels.other']],
  ['keys with dots and slashes', { metadata: { labels: { 'example.com/tier': 'x' } } }, []],
  ['an owner by its uid', { metadata: { ownerReferences: [{ uid: 'u1', name: 'x' }] } }, []],
  ['another owner', { metadata: { ownerReferences: [{ uid: 'u2' }] } }, ['metadata.ownerReferences[0].uid']],
  ['what is owned as a whole', { spec: { selector: { matchLabels: { any: 'thing' } } } }, []],
  ['a list that is owned as a whole', container({ args: ['a', 'b'] }), []],
  ['items by their keys', container({ image: 'x' }), []],
  ['a field of an item that was taken', container({ tty: true }), ['spec.template.spec.containers[app].tty']],
  ['keys that the server fills in', container({ ports: [{ containerPort: 80 }] }), []],
  [
    'keys that differ',
    container({ ports: [{ containerPort: 80, protocol: 'UDP' }] }),
    [
      'spec.template.spec.containers[app].ports[0].containerPort',
      'spec.template.spec.containers[app].ports[0].protocol',
    ],
  ],
  ['empty objects', { spec: { template: { spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } } } }, []],
  ['items by their values', { finalizers: ['example.com/held', 'x'] }, ['finalizers[x]']],
  ['null says nothing', { spec: { replicas: null } }, []],
  ['what nobody has heard of', { data: { color: 'red' } }, ['data.color']],
])('%s', (_, object, lost) => {
  expect(lostOf(object, live)).toEqual(lost)
})

describe('the fields that a manager has lost are found in time that grows linearly', () => {
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

  test.each(lists)('%s', async (_, makeItem, nameOf) => {
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

  test('with the depth of an object', async () => {
    await expectLinearGrowth({
      n: 2500,
      prepare: (n) => ({ object: ladder(n), live: managed({ 'f:y': {}, ...ladder(n, 'f:') }) }),
      run: ({ object, live: child }) => void lostOf(object, child),
    })
  })

  test('with fields below a long key', async () => {
    await expectLinearGrowth({
      n: 2500,
      prepare: (n) => ({ object: { ['k'.repeat(50 * n)]: widen(n) as JsonObject }, live: managed({ 'f:y': {} }) }),
      run: ({ object, live: child }) => void lostOf(object, child),
    })
  })
})

test('long paths are cut, and still differ', () => {
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
    .filter((path) => !owns(entry!, path))
    .map(formatPath)
}

function keysOf(item: Json, ...names: string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, (item as JsonObject)[name]])))
}
