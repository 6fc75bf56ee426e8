/** Requests of controllers are reviewed too. A controller retries a refused request until the webhook allows it. */
import { afterEach, expect, inject, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, expectStatus } from '../../../support/expectations.ts'
import { configMap } from '../../../support/objects.ts'
import { reviewed } from '../../../support/webhook-server.ts'
import { useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const webhooks = useWebhooks(cluster)
const maps = () => cluster.core('configmaps')
const isIdle = process.env['KOPF_TEST_CLUSTER'] === 'real' && !inject('realCluster').hasControllers

afterEach(() => webhooks.clear())

const labels = { kept: 'yes' }
let isRefused = true

/** Installs a webhook that refuses the operation on labelled objects while `isRefused` is set. */
async function refuse(operation: string, namespaceSelector: Tree = {}): Promise<void> {
  isRefused = true
  webhooks.server.on('/refuse', ({ review }) => reviewed(review, { allowed: !isRefused }))
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: [operation], resources: ['configmaps'] }]
  const matchLabels = { ...labels, of: cluster.namespace }
  const hook = { rules, objectSelector: { matchLabels }, namespaceSelector }
  await webhooks.install('Validating', 'refuse', webhooks.hook('refuse', '/refuse', hook))
}

const mine = () => ({ ...labels, of: cluster.namespace })
const get = async (name: string) => cluster.api.get(`${maps()}/${name}`)
const asked = (count: number, timeoutMs?: number) =>
  eventually(async () => expect(webhooks.server.asked('/refuse').length).toBeGreaterThanOrEqual(count), timeoutMs)

async function createFamily(name: string, more: Tree = {}): Promise<void> {
  const { metadata } = expectStatus(await cluster.api.post(maps(), configMap(name)), 201)
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid, ...more }
  const child = configMap({ name: `${name}-child`, labels: mine(), ownerReferences: [owner] })
  expectStatus(await cluster.api.post(maps(), child), 201)
}

/** The real namespace controller waits five seconds before it starts, and also has to empty the namespaces of earlier tests. */
const patienceMs = 60_000

const isGone = (name: string) => eventually(async () => expectStatus(await get(name), 404))

test.skipIf(isIdle)('the garbage collector retries a background deletion until the webhook allows it', async () => {
  await createFamily('owner')
  await refuse('DELETE')
  expectStatus(await cluster.api.delete(`${maps()}/owner`), 200)
  await asked(2)
  expectStatus(await get('owner-child'), 200)
  expect(webhooks.server.reviews('/refuse')[0]!.request).toMatchObject({
    operation: 'DELETE',
    name: 'owner-child',
    options: { propagationPolicy: 'Background' },
  })
  isRefused = false
  await isGone('owner-child')
})

test.skipIf(isIdle)('the garbage collector retries to orphan dependents until the webhook allows it', async () => {
  await createFamily('parent')
  await refuse('UPDATE')
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Orphan' }
  expectStatus(await cluster.api.request('DELETE', `${maps()}/parent`, { body }), 200)
  await asked(2)
  expectStatus(await get('parent'), 200)
  isRefused = false
  await isGone('parent')
  expect(expectStatus(await get('parent-child'), 200).metadata).not.toHaveProperty('ownerReferences')
})

test.skipIf(isIdle)('the garbage collector retries a foreground deletion until the webhook allows it', async () => {
  await createFamily('above', { blockOwnerDeletion: true })
  await refuse('DELETE')
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' }
  expectStatus(await cluster.api.request('DELETE', `${maps()}/above`, { body }), 200)
  await asked(2)
  expectStatus(await get('above'), 200)
  isRefused = false
  await isGone('above-child')
  await isGone('above')
})

test.skipIf(isIdle)(
  'the namespace controller retries the deletion of contents until the webhook allows it',
  { timeout: 3 * patienceMs },
  async () => {
    const other = await cluster.createNamespace('emptied')
    const path = `/api/v1/namespaces/${other}/configmaps`
    expectStatus(await cluster.api.post(path, configMap({ name: 'content', labels: mine() })), 201)
    await refuse('DELETE')
    expectStatus(await cluster.api.delete(`/api/v1/namespaces/${other}`), 200)
    await asked(1, patienceMs)
    expectStatus(await cluster.api.get(`${path}/content`), 200)
    isRefused = false
    await eventually(async () => expectStatus(await cluster.api.get(`/api/v1/namespaces/${other}`), 404), patienceMs)
  },
)
