/** Which webhooks are called for a request (rules, selectors, other versions of a resource), and in which order. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectStatus, warningsOf } from '../../../support/expectations.ts'
import { configMap, namespace, object } from '../../../support/objects.ts'
import { patching, reviewed } from '../../../support/webhook-server.ts'
import { allow, useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const webhooks = useWebhooks(cluster)
const widgets = (version?: string) => cluster.custom('widgets', version)
const maps = () => cluster.core('configmaps')
const widget = (name: string | Tree, spec: Tree = {}, version = 'v1') =>
  object(`${cluster.group}/${version}`, 'Widget', name, { spec })

const text = { type: 'string' }
const schema = (spec: Tree) => ({ openAPIV3Schema: { type: 'object', properties: { spec } } })
const subresources = { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } }

beforeAll(async () => {
  const size = { type: 'integer' }
  await cluster.install({
    kind: 'Widget',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: schema({ type: 'object', properties: { size, old: text, colour: { ...text, default: 'red' } } }),
        subresources,
      },
      {
        name: 'v2',
        served: true,
        storage: false,
        schema: schema({ type: 'object', properties: { size, new: { ...text, default: 'fresh' } } }),
        subresources,
      },
    ],
  })
})

afterEach(() => webhooks.clear())

/** Installs one webhook for each argument. A called webhook returns its index as a warning. */
async function install(...hooks: readonly Tree[]): Promise<void> {
  const named = hooks.map((more, index) => {
    webhooks.server.on(`/${index}`, ({ review }) => reviewed(review, { warnings: [String(index)] }))
    return webhooks.hook(`hook-${index}`, `/${index}`, more)
  })
  await webhooks.install('Validating', 'matching', ...named)
}

const rule = (rest: Tree) => ({
  rules: [{ apiGroups: [cluster.group], apiVersions: ['v1'], operations: ['*'], resources: ['widgets'], ...rest }],
})

let count = 0
const next = () => `object-${++count}`

describe('webhook rules', () => {
  test('a webhook rule matches the operations that it lists', async () => {
    const of = (...operations: string[]) => rule({ operations })
    await install(of('CREATE'), of('UPDATE'), of('DELETE'), of('*'), of('CONNECT'), of('CREATE', 'DELETE'))
    const path = `${widgets()}/operations`
    expect(warningsOf(await cluster.api.post(widgets(), widget('operations'))).sort()).toEqual(['0', '3', '5'])
    expect(warningsOf(await cluster.api.mergePatch(path, { spec: { size: 1 } })).sort()).toEqual(['1', '3'])
    expect(warningsOf(await cluster.api.delete(path)).sort()).toEqual(['2', '3', '5'])
  })

  test('a webhook rule matches the groups, versions and resources that it lists', async () => {
    const rules: Tree[] = [
      { apiGroups: ['*'] },
      { apiGroups: [''] },
      { apiVersions: ['*'] },
      { resources: ['*'] },
      { resources: ['gadgets'] },
      { resources: ['gadgets', 'widgets'] },
      { apiVersions: ['v2'] },
    ]
    await install(...rules.map((one) => ({ ...rule(one), matchPolicy: 'Exact' })))
    expect(warningsOf(await cluster.api.post(widgets(), widget(next()))).sort()).toEqual(['0', '2', '3', '5'])
  })

  test('a webhook rule matches resources, subresources or both', async () => {
    const patterns = ['widgets', 'widgets/status', 'widgets/*', '*/scale', '*/*', '*', 'gadgets/*']
    await install(...patterns.map((pattern) => rule({ resources: [pattern] })))
    const path = `${widgets()}/doors`
    expect(warningsOf(await cluster.api.post(widgets(), widget('doors', { size: 1 }))).sort()).toEqual([
      '0',
      '2',
      '4',
      '5',
    ])
    const status = await cluster.api.mergePatch(`${path}/status`, { status: { size: 1 } })
    expect(
      warningsOf(status)
        .filter((warning) => warning.length === 1)
        .sort(),
    ).toEqual(['1', '2', '4'])
    const scale = await cluster.api.mergePatch(`${path}/scale`, { spec: { replicas: 2 } })
    expect(warningsOf(scale).sort()).toEqual(['2', '3', '4'])
  })

  test('the scope of a webhook rule matches namespaced or cluster-scoped objects', async () => {
    const scoped = (scope: string): Tree => {
      const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['*'], scope }]
      return { rules, objectSelector: { matchLabels: { scoped: cluster.namespace } }, namespaceSelector: {} }
    }
    await install(scoped('Namespaced'), scoped('Cluster'), scoped('*'))
    const labels = { scoped: cluster.namespace }
    const dry = { query: { dryRun: 'All' } }
    const inside = await cluster.api.post(maps(), configMap({ name: next(), labels }), dry)
    expect(warningsOf(inside).sort()).toEqual(['0', '2'])
    const outside = await cluster.api.post(
      '/api/v1/namespaces',
      namespace({ name: `${cluster.namespace}-x`, labels }),
      dry,
    )
    expect(warningsOf(outside).sort()).toEqual(['1', '2'])
  })
})

describe('webhook selectors', () => {
  test('an objectSelector matches when the old or the new object has the labels', async () => {
    await install({ ...rule({}), objectSelector: { matchLabels: { chosen: 'yes' } } })
    const labels = { chosen: 'yes' }
    expect(warningsOf(await cluster.api.post(widgets(), widget('chosen')))).toEqual([])
    const path = `${widgets()}/chosen`
    expect(warningsOf(await cluster.api.mergePatch(path, { metadata: { labels } }))).toEqual(['0'])
    expect(warningsOf(await cluster.api.mergePatch(path, { metadata: { labels: null } }))).toEqual(['0'])
    expect(warningsOf(await cluster.api.mergePatch(path, { spec: { size: 3 } }))).toEqual([])
    expectStatus(await cluster.api.mergePatch(path, { metadata: { labels } }), 200)
    expect(warningsOf(await cluster.api.delete(path))).toEqual(['0'])
  })

  test('an objectSelector evaluates expressions, and finds no labels on a Scale', async () => {
    const of = (key: string, operator: string, values?: string[]) => ({
      ...rule({ resources: ['widgets/*'] }),
      objectSelector: { matchExpressions: [{ key, operator, ...(values ? { values } : {}) }] },
    })
    await install(of('a', 'Exists'), of('a', 'DoesNotExist'), of('a', 'In', ['x']), of('a', 'NotIn', ['x']))
    const body = widget({ name: 'labelled', labels: { a: 'x' } }, { size: 1 })
    expect(warningsOf(await cluster.api.post(widgets(), body)).sort()).toEqual(['0', '2'])
    const scaled = await cluster.api.mergePatch(`${widgets()}/labelled/scale`, { spec: { replicas: 2 } })
    expect(warningsOf(scaled).sort()).toEqual(['1', '3'])
  })

  test('a namespaceSelector uses the present labels of the namespace', async () => {
    const other = await cluster.createNamespace('labels')
    const path = `/api/v1/namespaces/${other}`
    const namespaceSelector = { matchLabels: { tier: cluster.namespace } }
    await install({ ...rule({}), namespaceSelector })
    const there = `/apis/${cluster.group}/v1/namespaces/${other}/widgets`
    expect(warningsOf(await cluster.api.post(there, widget(next())))).toEqual([])
    expectStatus(await cluster.api.mergePatch(path, { metadata: { labels: { tier: cluster.namespace } } }), 200)
    await expect.poll(async () => warningsOf(await cluster.api.post(there, widget(next())))).toEqual(['0'])
    expect(warningsOf(await cluster.api.post(widgets(), widget(next())))).toEqual([])
  })

  test('a namespaceSelector for a new namespace uses the labels of the request', async () => {
    const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['namespaces'] }]
    await install({ rules, namespaceSelector: { matchLabels: { mine: cluster.namespace } } })
    const query = { dryRun: 'All' }
    const create = (labels: Tree) =>
      cluster.api.post('/api/v1/namespaces', namespace({ name: `${cluster.namespace}-y`, labels }), { query })
    expect(warningsOf(await create({ mine: cluster.namespace }))).toEqual(['0'])
    expect(warningsOf(await create({}))).toEqual([])
  })

  test('a namespaceSelector does not exclude cluster-scoped objects', async () => {
    const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['persistentvolumes'] }]
    const objectSelector = { matchLabels: { mine: cluster.namespace } }
    await install({ rules, objectSelector, namespaceSelector: { matchLabels: { nobody: 'has-this' } } })
    const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } }
    const labels = { mine: cluster.namespace }
    const volume = object('v1', 'PersistentVolume', { name: cluster.namespace, labels }, { spec })
    const answer = await cluster.api.post('/api/v1/persistentvolumes', volume, { query: { dryRun: 'All' } })
    expectStatus(answer, 201)
    expect(warningsOf(answer)).toEqual(['0'])
  })
})

describe('requests in another version than that of the webhook rule', () => {
  test('matchPolicy Equivalent converts the object for the webhook, and Exact skips the webhook', async () => {
    const v2 = rule({ apiVersions: ['v2'] })
    await install(
      { ...v2, matchPolicy: 'Equivalent' },
      { ...v2, matchPolicy: 'Exact' },
      rule({ apiVersions: ['v2', 'v1'] }),
    )
    const answer = await cluster.api.post(widgets(), widget('versions', { old: 'x' }))
    expect(warningsOf(answer).sort()).toEqual(['0', '2'])
    const { group } = cluster
    expect(webhooks.server.reviews('/0')[0]!.request).toMatchObject({
      kind: { group, version: 'v2', kind: 'Widget' },
      resource: { group, version: 'v2', resource: 'widgets' },
      requestKind: { group, version: 'v1', kind: 'Widget' },
      requestResource: { group, version: 'v1', resource: 'widgets' },
      object: { apiVersion: `${group}/v2`, spec: { old: 'x', colour: 'red' } },
    })
    expect(webhooks.server.reviews('/2')[0]!.request).toMatchObject({ resource: { version: 'v1' } })
  })

  test('a request keeps its own version when a webhook for another version patches the object', async () => {
    webhooks.server.on('/mutate', ({ review }) =>
      reviewed(review, patching({ op: 'add', path: '/spec/size', value: 7 })),
    )
    const hook = webhooks.hook('mutate', '/mutate', rule({ apiVersions: ['v2'] }))
    await webhooks.install('Mutating', 'versions', hook)
    await install(rule({}))
    const { body } = await cluster.api.post(widgets(), widget('kept', { old: 'x' }))
    expect(body).toMatchObject({ apiVersion: `${cluster.group}/v1`, spec: { old: 'x', size: 7, colour: 'red' } })
    expect(webhooks.server.reviews('/0')[0]!.request).toMatchObject({
      object: { apiVersion: `${cluster.group}/v1`, spec: { old: 'x', size: 7, colour: 'red' } },
    })
    const stored = expectStatus(await cluster.api.get(`${widgets()}/kept`), 200)
    expect(stored.spec).toEqual({ old: 'x', size: 7, colour: 'red' })
  })

  test('a webhook gets the old object in the version of its rule', async () => {
    expectStatus(await cluster.api.post(widgets(), widget('both', { old: 'x' })), 201)
    await install(rule({ apiVersions: ['v2'] }))
    expectStatus(await cluster.api.delete(`${widgets()}/both`), 200)
    expect(webhooks.server.reviews('/0')[0]!.request).toMatchObject({
      operation: 'DELETE',
      object: null,
      oldObject: { apiVersion: `${cluster.group}/v2`, spec: { old: 'x' } },
    })
  })

  test('matchPolicy Equivalent also matches the same resource in another API group', async () => {
    const events = [{ apiGroups: ['events.k8s.io'], apiVersions: ['v1'], operations: ['*'], resources: ['events'] }]
    await install({ rules: events })
    const involvedObject = { kind: 'X', name: 'x', namespace: cluster.namespace }
    const event = object('v1', 'Event', next(), { involvedObject, reason: 'R', message: 'M', type: 'Normal' })
    expect(warningsOf(await cluster.api.post(cluster.core('events'), event))).toEqual(['0'])
    expect(webhooks.server.reviews('/0')[0]!.request).toMatchObject({
      kind: { group: 'events.k8s.io', version: 'v1', kind: 'Event' },
      object: { apiVersion: 'events.k8s.io/v1', regarding: involvedObject, note: 'M' },
    })
  })
})

test('mutating webhooks are called one after the other, in the order of their configurations’ names', async () => {
  const seen: string[] = []
  const add = (path: string) =>
    webhooks.server.on(path, ({ review }) => {
      seen.push(path)
      const { data } = review.request['object'] as { data: Tree }
      return reviewed(review, patching({ op: 'add', path: '/data/by', value: `${data['by'] ?? ''}${path}` }))
    })
  for (const path of ['/b1', '/b2', '/a']) add(path)
  const mine = { objectSelector: { matchLabels: { order: 'yes' } } }
  await webhooks.install('Mutating', 'b', webhooks.hook('z', '/b1', mine), webhooks.hook('a', '/b2', mine))
  await webhooks.install('Mutating', 'a', webhooks.hook('z', '/a', mine))
  const body = configMap({ name: next(), labels: { order: 'yes' } }, { data: { of: 'order' } })
  const created = expectStatus(await cluster.api.post(maps(), body), 201)
  expect(created['data']).toEqual({ of: 'order', by: '/a/b1/b2' })
  expect(seen).toEqual(['/a', '/b1', '/b2'])
})

test('webhook configurations are not sent to webhooks', async () => {
  const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], scope: 'Cluster' }]
  const labels = { mine: cluster.namespace }
  await install({ rules, objectSelector: { matchLabels: labels } })
  const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'
  const configuration = object('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', {
    name: `exempt-${cluster.namespace}`,
    labels,
  })
  const query = { dryRun: 'All' }
  const answer = await cluster.api.post(path, configuration, { query })
  expectStatus(answer, 201)
  expect(warningsOf(answer)).toEqual([])
})

test('a webhook is no longer called after its configuration is deleted', async () => {
  webhooks.server.on('/gone', allow)
  await webhooks.install('Validating', 'gone', webhooks.hook('gone', '/gone'))
  await webhooks.clear()
  webhooks.server.forget('/gone')
  expectStatus(await cluster.api.post(maps(), configMap(next())), 201)
  expect(webhooks.server.asked('/gone')).toEqual([])
})
