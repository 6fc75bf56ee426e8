/** managedFields after writes other than apply: creations, updates and patches, of objects and of subresources. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectStatus } from '../../../support/expectations.ts'
import { apply, entriesOf, ownersOf } from '../../../support/managed-fields.ts'
import { configMap, object, podTemplate } from '../../../support/objects.ts'

const cluster = useCluster()
let count = 0
const fresh = () => `object-${++count}`
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')
const widget = (name: string, rest: Tree = {}) => object(`${cluster.group}/v1`, 'Widget', name, rest)
const as = (fieldManager: string) => ({ query: { fieldManager } })

beforeAll(async () => {
  const spec = {
    type: 'object',
    properties: {
      size: { type: 'integer' },
      colour: { type: 'string', default: 'red' },
      tags: { type: 'object', additionalProperties: { type: 'string' } },
    },
  }
  const status = { type: 'object', properties: { phase: { type: 'string' }, replicas: { type: 'integer' } } }
  await cluster.install({
    kind: 'Widget',
    schema: { type: 'object', properties: { spec, status } },
    subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.replicas' } },
  })
})

async function createMap(data: Tree, manager = 'creator'): Promise<{ path: string; answer: Answer }> {
  const name = fresh()
  const answer = await cluster.api.post(configMaps(), configMap(name, { data }), as(manager))
  expectStatus(answer, 201)
  return { path: `${configMaps()}/${name}`, answer }
}

async function createWidget(rest: Tree): Promise<{ path: string; answer: Answer }> {
  const name = fresh()
  const answer = await cluster.api.post(widgets(), widget(name, rest), as('creator'))
  expectStatus(answer, 201)
  return { path: `${widgets()}/${name}`, answer }
}

describe('names of field managers', () => {
  test.each([
    ['curl/8.0.1', 'curl'],
    ['my tool', 'my tool'],
    ['', 'unknown'],
  ])('the user agent %j makes the field manager %j', async (userAgent, expected) => {
    const body = configMap(fresh(), { data: { a: '1' } })
    const answer = await cluster.api.post(configMaps(), body, { headers: { 'user-agent': userAgent } })
    expect(Object.keys(ownersOf(answer))).toEqual([`${expected} Update`])
  })

  test('the query option fieldManager takes precedence over the user agent', async () => {
    const body = configMap(fresh(), { data: { a: '1' } })
    const headers = { 'user-agent': 'curl/8' }
    const answer = await cluster.api.post(configMaps(), body, { headers, ...as('me') })
    expect(Object.keys(ownersOf(answer))).toEqual(['me Update'])
  })
})

describe('managed fields of a creation', () => {
  test('a creation owns the given and defaulted fields, but no identifying metadata', async () => {
    const metadata = { name: fresh(), labels: { a: 'b' }, finalizers: ['example.com/x'] }
    const body = object(`${cluster.group}/v1`, 'Widget', metadata, { spec: { size: 1, tags: { x: 'y' } } })
    const answer = await cluster.api.post(widgets(), body, as('me'))
    expect(ownersOf(answer)).toEqual({
      'me Update': {
        'f:metadata': {
          'f:finalizers': { '.': {}, 'v:"example.com/x"': {} },
          'f:labels': { '.': {}, 'f:a': {} },
        },
        'f:spec': { '.': {}, 'f:colour': {}, 'f:size': {}, 'f:tags': { '.': {}, 'f:x': {} } },
      },
    })
    await cluster.api.mergePatch(`${widgets()}/${metadata.name}`, { metadata: { finalizers: null } })
  })

  test('a creation of a built-in object does not own structs that are always present', async () => {
    const spec = { selector: { matchLabels: { a: 'b' } }, template: podTemplate({ a: 'b' }), replicas: 1 }
    const body = object('apps/v1', 'Deployment', fresh(), { spec })
    const answer = await cluster.api.post(cluster.grouped('apps/v1', 'deployments'), body, as('me'))
    const container = { '.': {}, 'f:image': {}, 'f:imagePullPolicy': {}, 'f:name': {}, 'f:resources': {} }
    const messages = { 'f:terminationMessagePath': {}, 'f:terminationMessagePolicy': {} }
    expect(ownersOf(answer)).toEqual({
      'me Update': {
        'f:spec': {
          'f:progressDeadlineSeconds': {},
          'f:replicas': {},
          'f:revisionHistoryLimit': {},
          'f:selector': {},
          'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {} }, 'f:type': {} },
          'f:template': {
            'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } },
            'f:spec': {
              'f:containers': { 'k:{"name":"main"}': { ...container, ...messages } },
              'f:dnsPolicy': {},
              'f:restartPolicy': {},
              'f:schedulerName': {},
              'f:securityContext': {},
              'f:terminationGracePeriodSeconds': {},
            },
          },
        },
      },
    })
  })
})

describe('managed fields of a change', () => {
  test('a change takes over changed fields, and removed fields have no manager', async () => {
    const { path } = await createMap({ a: '1', b: '1', c: '1' })
    const answer = await cluster.api.mergePatch(path, { data: { a: '2', b: null, d: '1' } }, as('other'))
    expect(ownersOf(answer)).toEqual({
      'creator Update': { 'f:data': { '.': {}, 'f:c': {} } },
      'other Update': { 'f:data': { 'f:a': {}, 'f:d': {} } },
    })
  })

  test('a change to the present value takes over nothing and writes nothing', async () => {
    const { path, answer } = await createMap({ a: '1' })
    const after = await cluster.api.mergePatch(path, { data: { a: '1' } }, as('other'))
    expect(after.text).toBe(answer.text)
  })

  test('a manager without any field is removed', async () => {
    const { path } = await createMap({ a: '1' })
    await cluster.api.mergePatch(path, { data: { b: '1' } }, as('second'))
    const answer = await cluster.api.jsonPatch(path, [{ op: 'remove', path: '/data/b' }], as('third'))
    expect(ownersOf(answer)).toEqual({ 'creator Update': { 'f:data': { '.': {}, 'f:a': {} } } })
  })

  test('an update without managedFields keeps them', async () => {
    const { path, answer } = await createMap({ a: '1' })
    const updated = await cluster.api.put(path, { ...answer.body, data: { a: '1', b: '1' } }, as('other'))
    expect(ownersOf(updated)).toEqual({
      'creator Update': { 'f:data': { '.': {}, 'f:a': {} } },
      'other Update': { 'f:data': { 'f:b': {} } },
    })
  })

  test('with more than ten updaters, the oldest are merged into the manager ancient-changes', async () => {
    const { path } = await createMap({ a: '1' })
    for (let index = 0; index < 12; index += 1) {
      await cluster.api.mergePatch(path, { data: { [`k${index}`]: '1' } }, as(`m${String(index).padStart(2, '0')}`))
    }
    const answer = await cluster.api.get(path)
    const names = entriesOf(answer).map(({ manager }) => manager)
    expect(names).toHaveLength(10)
    expect(names).toContain('ancient-changes')
  })
})

describe('managedFields from a client', () => {
  const entry = {
    manager: 'given',
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { 'f:a': {} } },
  }
  const set = (path: string, managedFields: unknown) => cluster.api.mergePatch(path, { metadata: { managedFields } })

  test('a client may replace managedFields', async () => {
    const { path } = await createMap({ a: '1' })
    expect(ownersOf(await set(path, [entry]))).toEqual({ 'given Update': { 'f:data': { 'f:a': {} } } })
  })

  test.each([
    { operation: 'Guess' },
    { apiVersion: '' },
    { fieldsType: 'FieldsV2' },
    { fieldsType: '' },
    { fieldsV1: { x: {} } },
  ])('invalid managedFields from a client are ignored: %j', async (wrong) => {
    const { path, answer } = await createMap({ a: '1' })
    expect((await set(path, [{ ...entry, ...wrong }])).text).toBe(answer.text)
  })

  test('one empty managedFields entry removes all managers, also for later changes', async () => {
    const { path } = await createMap({ a: '1' })
    expect(entriesOf(await set(path, [{}]))).toEqual([])
    expect(entriesOf(await cluster.api.mergePatch(path, { data: { b: '1' } }))).toEqual([])
  })

  test('empty managedFields remove all managers of a built-in object, and none of a custom object', async () => {
    const { path } = await createMap({ a: '1' })
    expect(entriesOf(await set(path, []))).toEqual([])
    const { path: custom, answer } = await createWidget({ spec: { size: 1 } })
    expect(entriesOf(await set(custom, []))).toEqual(entriesOf(answer))
  })
})

describe('managed fields of subresources', () => {
  test('the status of a custom object is owned through its subresource only', async () => {
    const { path, answer } = await createWidget({ spec: { size: 1 }, status: { phase: 'New' } })
    expect(ownersOf(answer)['creator Update']).not.toHaveProperty('f:status')
    const patch = { status: { phase: 'Ready' }, spec: { size: 2 }, metadata: { labels: { a: 'b' } } }
    const patched = await cluster.api.mergePatch(`${path}/status`, patch, as('watcher'))
    expect(ownersOf(patched)).toEqual({
      ...ownersOf(answer),
      'watcher Update status': { 'f:status': { '.': {}, 'f:phase': {} } },
    })
  })

  test('an applied status of a custom object is owned through its subresource only', async () => {
    const { path, answer } = await createWidget({ spec: { size: 1 } })
    const name = answer.body.metadata.name
    const body = widget(name, { spec: { size: 5 }, status: { phase: 'Ready' } })
    const applied = await apply(cluster.api, `${path}/status`, body, { as: 'watcher' })
    expect(applied.body).toMatchObject({ spec: { size: 1 }, status: { phase: 'Ready' } })
    expect(ownersOf(applied)['watcher Apply status']).toEqual({ 'f:status': { 'f:phase': {} } })
    const missing = await apply(cluster.api, `${widgets()}/nobody/status`, widget('nobody', { status: {} }))
    expect(missing.status).toBe(404)
  })

  test('a scale update owns the replicas', async () => {
    const { path } = await createWidget({ spec: { size: 1 } })
    expectStatus(await cluster.api.mergePatch(`${path}/scale`, { spec: { replicas: 3 } }, as('scaler')), 200)
    const answer = await cluster.api.get(path)
    expect(ownersOf(answer)).toEqual({
      'creator Update': { 'f:spec': { '.': {}, 'f:colour': {} } },
      'scaler Update scale': { 'f:spec': { 'f:size': {} } },
    })
  })
})
