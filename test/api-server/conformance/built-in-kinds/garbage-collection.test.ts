/** The garbage collector: background and foreground deletion of dependents, and orphaning. */
import { describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, expectStatus, timestamp } from '../../../support/expectations.ts'
import { configMap, object } from '../../../support/objects.ts'

const cluster = useCluster()
const path = () => cluster.core('configmaps')
const pathOf = ({ metadata }: Body) => `${path()}/${metadata.name}`

let count = 0

async function create(metadata: Tree = {}): Promise<Body> {
  return expectStatus(await cluster.api.post(path(), configMap({ name: `object-${++count}`, ...metadata })), 201)
}

function reference({ metadata: { name, uid } }: Body, more: Tree = {}): Tree {
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid, ...more }
}

async function gone(body: Body): Promise<void> {
  await eventually(async () => void expectStatus(await cluster.api.get(pathOf(body)), 404))
}

/** Resolves when the collector has deleted an object that is created now, and has thus processed all earlier ones. */
async function collectorIsIdle(): Promise<void> {
  const owner = await create()
  const dependent = await create({ ownerReferences: [reference(owner)] })
  expectStatus(await cluster.api.delete(pathOf(owner)), 200)
  await gone(dependent)
}

test('the garbage collector deletes dependents after their owner, and their dependents after them', async () => {
  const owner = await create()
  const child = await create({ ownerReferences: [reference(owner)] })
  const grandchild = await create({ ownerReferences: [reference(child)] })
  const answer = await cluster.api.delete(pathOf(owner))
  expect(answer.body).toMatchObject({ kind: 'Status', status: 'Success' })
  await gone(child)
  await gone(grandchild)
})

test('the garbage collector deletes dependents of other kinds', async () => {
  const owner = await create()
  const secrets = cluster.core('secrets')
  const secret = object('v1', 'Secret', { name: 'owned', ownerReferences: [reference(owner)] })
  expectStatus(await cluster.api.post(secrets, secret), 201)
  expectStatus(await cluster.api.delete(pathOf(owner), { query: { propagationPolicy: 'Background' } }), 200)
  await eventually(async () => void expectStatus(await cluster.api.get(`${secrets}/owned`), 404))
})

test('a dependent with another owner stays, and loses the reference to the deleted owner', async () => {
  const [first, second] = [await create(), await create()]
  const child = await create({ ownerReferences: [reference(first), reference(second)] })
  expectStatus(await cluster.api.delete(pathOf(first)), 200)
  await eventually(async () => {
    const { body } = await cluster.api.get(pathOf(child))
    expect(body.metadata.ownerReferences).toEqual([reference(second)])
  })
  expectStatus(await cluster.api.delete(pathOf(second)), 200)
  await gone(child)
})

test('the garbage collector deletes an object whose owner never existed', async () => {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: '33333333-3333-4333-8333-333333333333' }
  await gone(await create({ ownerReferences: [owner] }))
})

test('the garbage collector deletes an object whose owner has the right name but another uid', async () => {
  const owner = await create()
  const uid = '44444444-4444-4444-8444-444444444444'
  await gone(await create({ ownerReferences: [{ ...reference(owner), uid }] }))
  expect((await cluster.api.get(pathOf(owner))).status).toBe(200)
})

test('a dependent with finalizers stays until they are removed', async () => {
  const owner = await create()
  const finalizers = ['example.com/last-will']
  const child = await create({ ownerReferences: [reference(owner)], finalizers })
  expectStatus(await cluster.api.delete(pathOf(owner)), 200)
  await eventually(async () => {
    const { body } = await cluster.api.get(pathOf(child))
    expect(body.metadata).toMatchObject({ deletionTimestamp: timestamp, finalizers })
  })
  expectStatus(await cluster.api.mergePatch(pathOf(child), { metadata: { finalizers: null } }), 200)
  await gone(child)
})

describe('foreground deletion', () => {
  const query = { propagationPolicy: 'Foreground' }

  test('the owner in a foreground deletion waits for dependents with blockOwnerDeletion', async () => {
    const owner = await create()
    const finalizers = ['example.com/last-will']
    const child = await create({ ownerReferences: [reference(owner, { blockOwnerDeletion: true })], finalizers })
    const answer = await cluster.api.delete(pathOf(owner), { query })
    expect(answer.body.metadata).toMatchObject({ deletionTimestamp: timestamp, finalizers: ['foregroundDeletion'] })
    await eventually(async () => {
      const { body } = await cluster.api.get(pathOf(child))
      expect(body.metadata.deletionTimestamp).toEqual(timestamp)
    })
    expect((await cluster.api.get(pathOf(owner))).status).toBe(200)
    expectStatus(await cluster.api.mergePatch(pathOf(child), { metadata: { finalizers: null } }), 200)
    await gone(child)
    await gone(owner)
  })

  test('the owner in a foreground deletion does not wait for dependents without blockOwnerDeletion', async () => {
    const owner = await create()
    const finalizers = ['example.com/last-will']
    const child = await create({ ownerReferences: [reference(owner)], finalizers })
    expectStatus(await cluster.api.delete(pathOf(owner), { query }), 200)
    await gone(owner)
    expectStatus(await cluster.api.mergePatch(pathOf(child), { metadata: { finalizers: null } }), 200)
    await gone(child)
  })

  test('an owner without dependents is deleted at once in a foreground deletion', async () => {
    const owner = await create()
    expectStatus(await cluster.api.delete(pathOf(owner), { query }), 200)
    await gone(owner)
  })

  test('a foreground deletion can be requested in the body', async () => {
    const owner = await create()
    const answer = await cluster.api.delete(pathOf(owner), { body: query })
    expect(answer.body.metadata.finalizers).toEqual(['foregroundDeletion'])
    await gone(owner)
  })
})

describe('orphaned dependents', () => {
  test.each<[string, Tree]>([
    ['by the policy Orphan', { propagationPolicy: 'Orphan' }],
    ['by orphanDependents', { orphanDependents: true }],
  ])('orphaned dependents stay and lose their owner reference, %s', async (_, body) => {
    const owner = await create()
    const child = await create({ ownerReferences: [reference(owner)] })
    const answer = await cluster.api.delete(pathOf(owner), { body })
    expect(answer.body.metadata).toMatchObject({ deletionTimestamp: timestamp, finalizers: ['orphan'] })
    await gone(owner)
    await collectorIsIdle()
    const after = (await cluster.api.get(pathOf(child))).body
    expect(after.metadata).not.toHaveProperty('ownerReferences')
    expect(after.metadata.uid).toBe(child.metadata.uid)
  })
})

test('the deletion of a collection also deletes the dependents of its objects', async () => {
  const labels = { batch: 'owners' }
  const owners = [await create({ labels }), await create({ labels })]
  const children = [
    await create({ ownerReferences: [reference(owners[0]!)] }),
    await create({ ownerReferences: [reference(owners[1]!)] }),
  ]
  expectStatus(await cluster.api.delete(path(), { query: { labelSelector: 'batch=owners' } }), 200)
  for (const each of [...owners, ...children]) await gone(each)
})
