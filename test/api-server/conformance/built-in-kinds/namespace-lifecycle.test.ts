/** Namespaces: creation, deletion with their contents, and finalizers that delay the deletion. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, expectFailure, expectInvalid, expectStatus, timestamp } from '../../../support/expectations.ts'
import { configMap, namespace, object } from '../../../support/objects.ts'

const cluster = useCluster()
const path = '/api/v1/namespaces'

let count = 0

async function create(metadata: Tree = {}, rest: Tree = {}): Promise<Body> {
  const name = `${cluster.namespace}-${++count}`
  const created = expectStatus(await cluster.api.post(path, namespace({ name, ...metadata }, rest)), 201)
  cluster.defer(() => cluster.api.delete(`${path}/${name}`))
  return created
}

const pathOf = ({ metadata }: Body) => `${path}/${metadata.name}`

async function gone(body: Body): Promise<void> {
  await eventually(async () => void expectStatus(await cluster.api.get(pathOf(body)), 404))
}

const conditions = (body: Body) =>
  Object.fromEntries(
    ((body.status['conditions'] as Tree[] | undefined) ?? []).map((each) => [each['type'] as string, each]),
  )

beforeAll(() => cluster.install({ kind: 'Widget' }))

describe('new namespaces', () => {
  test('a new namespace is active and has the finalizer kubernetes in its spec', async () => {
    const body = await create({ labels: { a: 'b' } })
    expect(body.metadata.labels).toEqual({ a: 'b', 'kubernetes.io/metadata.name': body.metadata.name })
    expect(body.spec).toEqual({ finalizers: ['kubernetes'] })
    expect(body.status).toEqual({ phase: 'Active' })
    expect(body.metadata).not.toHaveProperty('finalizers')
  })

  test('a namespace with a generated name has that name in its label', async () => {
    const answer = await cluster.api.post(path, namespace({ generateName: `${cluster.namespace}-` }))
    const { metadata } = expectStatus(answer, 201)
    cluster.defer(() => cluster.api.delete(`${path}/${metadata.name}`))
    expect(metadata.labels).toEqual({ 'kubernetes.io/metadata.name': metadata.name })
  })

  test('a new namespace cannot set its own status', async () => {
    const body = await create({}, { status: { phase: 'Terminating' } })
    expect(body.status).toEqual({ phase: 'Active' })
  })

  test('the label with the name of a namespace cannot be removed', async () => {
    const body = await create()
    const labels = { 'kubernetes.io/metadata.name': null }
    const patched = await cluster.api.mergePatch(pathOf(body), { metadata: { labels } })
    expect(patched.body.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': body.metadata.name })
  })
})

describe('system namespaces', () => {
  test.each(['default', 'kube-system', 'kube-public', 'kube-node-lease'])(
    'the API server has the namespace %s from the start',
    async (name) => {
      const { body } = await cluster.api.get(`${path}/${name}`)
      expect(body.status).toEqual({ phase: 'Active' })
    },
  )

  test.each(['default', 'kube-system', 'kube-public'])(
    'the API server refuses to delete the namespace %s',
    async (name) => {
      const answer = await cluster.api.delete(`${path}/${name}`)
      const message = `namespaces "${name}" is forbidden: this namespace may not be deleted`
      expectFailure(answer, 403, 'Forbidden', message, { name, kind: 'namespaces' })
    },
  )
})

// Concurrent, since the real namespace controller waits some seconds before it empties a namespace.
describe.concurrent('deleted namespaces', () => {
  test('the deletion of a namespace answers with the namespace', async () => {
    const body = await create()
    const answer = await cluster.api.delete(pathOf(body))
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      kind: 'Namespace',
      metadata: { name: body.metadata.name, deletionTimestamp: timestamp },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Terminating' },
    })
    await gone(body)
  })

  test('the deletion of a namespace deletes all objects in it', async () => {
    const body = await create()
    const place = `namespaces/${body.metadata.name}`
    const widgets = `/apis/${cluster.group}/v1/${place}/widgets`
    expectStatus(await cluster.api.post(`/api/v1/${place}/configmaps`, configMap('x')), 201)
    expectStatus(await cluster.api.post(`/api/v1/${place}/secrets`, object('v1', 'Secret', 'x')), 201)
    expectStatus(await cluster.api.post(widgets, object(`${cluster.group}/v1`, 'Widget', 'x')), 201)
    const { resourceVersion } = (await cluster.api.get(widgets)).body.metadata
    const watch = await cluster.api.watch(widgets, { resourceVersion })
    expectStatus(await cluster.api.delete(pathOf(body)), 200)
    expect((await watch.next()).type).toBe('DELETED')
    watch.close()
    await gone(body)
    for (const collection of [`/api/v1/${place}/configmaps`, `/api/v1/${place}/secrets`, widgets]) {
      expect((await cluster.api.get(collection)).body.items).toEqual([])
    }
  })

  test('a namespace can be created again after its deletion', async () => {
    const body = await create()
    expectStatus(await cluster.api.delete(pathOf(body)), 200)
    await gone(body)
    const again = expectStatus(await cluster.api.post(path, namespace(body.metadata.name)), 201)
    expect(again.metadata.uid).not.toBe(body.metadata.uid)
    expect(again.status).toEqual({ phase: 'Active' })
  })

  test('a deleted namespace waits for objects with finalizers, and its conditions name them', async () => {
    const body = await create()
    const { name } = body.metadata
    const configMaps = `/api/v1/namespaces/${name}/configmaps`
    expectStatus(await cluster.api.post(configMaps, configMap({ name: 'held', finalizers: ['example.com/keep'] })), 201)
    expectStatus(await cluster.api.delete(pathOf(body)), 200)
    await eventually(async () => {
      const current = (await cluster.api.get(pathOf(body))).body
      expect(current.status['phase']).toBe('Terminating')
      expect(conditions(current)).toMatchObject({
        NamespaceDeletionDiscoveryFailure: {
          status: 'False',
          reason: 'ResourcesDiscovered',
          message: 'All resources successfully discovered',
        },
        NamespaceDeletionGroupVersionParsingFailure: {
          status: 'False',
          reason: 'ParsedGroupVersions',
          message: 'All legacy kube types successfully parsed',
        },
        NamespaceDeletionContentFailure: {
          status: 'False',
          reason: 'ContentDeleted',
          message: 'All content successfully deleted, may be waiting on finalization',
        },
        NamespaceContentRemaining: {
          status: 'True',
          reason: 'SomeResourcesRemain',
          message: 'Some resources are remaining: configmaps. has 1 resource instances',
        },
        NamespaceFinalizersRemaining: {
          status: 'True',
          reason: 'SomeFinalizersRemain',
          message: 'Some content in the namespace has finalizers remaining: example.com/keep in 1 resource instances',
        },
      })
    })
    expectStatus(await cluster.api.mergePatch(`${configMaps}/held`, { metadata: { finalizers: null } }), 200)
    await gone(body)
  })

  test('a deleted namespace waits for the finalizers of its own metadata', async () => {
    const body = await create({ finalizers: ['example.com/keep'] })
    expectStatus(await cluster.api.delete(pathOf(body)), 200)
    await eventually(async () => {
      const current = (await cluster.api.get(pathOf(body))).body
      expect(current.spec).toEqual({})
      expect(current.metadata.finalizers).toEqual(['example.com/keep'])
    })
    expectStatus(await cluster.api.mergePatch(pathOf(body), { metadata: { finalizers: null } }), 200)
    await gone(body)
  })

  test('a second deletion of a namespace keeps the deletionTimestamp', async () => {
    const body = await create({ finalizers: ['example.com/keep'] })
    const first = await cluster.api.delete(pathOf(body))
    const again = await cluster.api.delete(pathOf(body))
    expect(again.status).toBe(200)
    expect(again.body.metadata.deletionTimestamp).toBe(first.body.metadata.deletionTimestamp)
    expectStatus(await cluster.api.mergePatch(pathOf(body), { metadata: { finalizers: null } }), 200)
    await gone(body)
  })
})

describe('spec finalizers of namespaces', () => {
  test('the spec finalizers of a namespace change only through the finalize subresource', async () => {
    const body = await create()
    const patched = await cluster.api.mergePatch(pathOf(body), { spec: { finalizers: ['example.com/mine'] } })
    expect(patched.body.spec).toEqual({ finalizers: ['kubernetes'] })
    const finalizers = ['kubernetes', 'example.com/mine']
    const answer = await cluster.api.put(`${pathOf(body)}/finalize`, { ...patched.body, spec: { finalizers } })
    expect(answer.body.spec).toEqual({ finalizers })
    expectStatus(
      await cluster.api.put(`${pathOf(body)}/finalize`, { ...answer.body, spec: { finalizers: ['kubernetes'] } }),
      200,
    )
  })

  test('a spec finalizer of a namespace must be a qualified name', async () => {
    const name = `${cluster.namespace}-refused`
    const answer = await cluster.api.post(path, namespace(name, { spec: { finalizers: ['plain'] } }))
    const message = 'Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified'
    expectInvalid(answer, { kind: 'Namespace', name }, `spec.finalizers: ${message}`)
  })
})
