/** The public testing kit, with the same tests on the embedded cluster and on a real one. */
import { defineResource, isForbidden, Operator, PermanentError, TemporaryError } from 'kopf'
import { startCluster, type Transport } from 'kopf/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { isReal, realOrNot } from './real-or-embedded.ts'

const Database = defineResource({
  group: 'testing.example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({
    engine: z.enum(['postgres', 'mysql']),
    size: z.number().int().min(1),
    users: z.array(z.string()).default([]),
  }),
  status: z.object({ phase: z.string(), url: z.string(), ticks: z.number() }),
})
const spec = { engine: 'postgres' as const, size: 1, users: [] }
const real = realOrNot()
/** Long where time is skipped, short on a real cluster. */
const pause = isReal ? '200ms' : '10m'

test('a test cluster runs an operator that makes a created object ready', async () => {
  const kopf = new Operator()
  kopf.on.create(Database, ({ name, spec, patch, retry }) => {
    if (retry < 3) throw new TemporaryError('The database is still booting', { delay: pause })
    patch.status.phase = 'Ready'
    patch.status.url = `${spec.engine}://${name}`
  })
  await using cluster = await startCluster({ resources: [Database], real })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec: { engine: 'postgres', size: 1, users: [] } })
  const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
  expect(status?.url).toBe('postgres://orders')
})

test('timers and daemons in a test cluster run as time passes', async () => {
  const kopf = new Operator({ memo: () => ({ pings: 0 }) })
  kopf.timer(Database, { interval: pause }, ({ status, patch }) => {
    patch.status.ticks = (status.ticks ?? 0) + 1
  })
  kopf.daemon(Database, async ({ stopped, memo, patch }) => {
    while (!stopped.isSet() && memo.pings < 5) {
      memo.pings += 1
      await stopped.wait(pause)
    }
    patch.status.phase = `Pinged ${memo.pings} times`
  })
  await using cluster = await startCluster({ resources: [Database], real })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec })
  await cluster.until(Database, 'orders', ({ status }) => status?.ticks === 5)
  await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Pinged 5 times')
})

test('handlers in a test cluster use the clock of the cluster', async () => {
  const kopf = new Operator()
  kopf.on.create(Database, async ({ clock, patch, signal }) => {
    const beganMs = clock.now()
    await clock.sleep(pause, { signal })
    patch.status.ticks = clock.now() - beganMs
  })
  await using cluster = await startCluster({ resources: [Database], real })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec })
  const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.ticks)
  expect(status?.ticks).toBeGreaterThanOrEqual(isReal ? 199 : 600_000)
})

test('an operator in a test cluster has only the permissions of its service account', async () => {
  const kopf = new Operator({ settings: { posting: { enabled: false } } })
  kopf.on.create(Database, async ({ client, patch }) => {
    await client.create(['v1', 'configmaps'], { metadata: { name: 'allowed' } })
    const refused = client.create(['v1', 'secrets'], { metadata: { name: 'refused' } })
    patch.status.phase = await refused.then(
      () => 'created',
      (error) => (isForbidden(error) ? 'forbidden' : String(error)),
    )
  })
  await using cluster = await startCluster({ resources: [Database], real, authorization: 'rbac' })
  const { namespace } = cluster
  await cluster.create('serviceaccounts', { name: 'robot' })
  const rbac = ['rbac.authorization.k8s.io/v1', 'roles'] as const
  await cluster.create(rbac, {
    name: 'robot',
    rules: [
      { apiGroups: ['testing.example.com'], resources: ['*'], verbs: ['list', 'watch', 'patch'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
    ],
  })
  await cluster.create(['rbac.authorization.k8s.io/v1', 'rolebindings'], {
    name: 'robot',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'robot' },
    subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace }],
  })
  const access = await cluster.as({ serviceAccount: 'robot' })
  await using _operator = await kopf.start({ ...access, namespaces: [namespace] })
  await cluster.create(Database, { name: 'orders', spec })
  const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.phase)
  expect(status?.phase).toBe('forbidden')
  await cluster.get(['v1', 'configmaps'], 'allowed')
})

test('an object deleted in a test cluster is gone when its handlers are done', async () => {
  const kopf = new Operator()
  const dropped: string[] = []
  kopf.on.delete(Database, ({ name, retry }) => {
    if (retry < 2) throw new TemporaryError('Not yet', { delay: pause })
    dropped.push(name)
  })
  await using cluster = await startCluster({ resources: [Database], real })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec })
  await cluster.until(Database, 'orders', ({ metadata }) => metadata.finalizers?.length === 1)
  await cluster.delete(Database, 'orders')
  await cluster.untilGone(Database, 'orders')
  expect(dropped).toEqual(['orders'])
})

test('objects of a test cluster are created, read, changed and listed with the types of the resource', async () => {
  await using cluster = await startCluster({ resources: [Database], real })
  const created = await cluster.create(Database, {
    name: 'orders',
    labels: { tier: 'gold' },
    annotations: { note: 'x' },
    spec,
    status: { phase: 'New', url: '-', ticks: 0 },
  })
  expect(created.metadata).toMatchObject({ name: 'orders', labels: { tier: 'gold' }, namespace: cluster.namespace })
  expect(created.status?.phase).toBe('New')
  const patched = await cluster.patch(Database, 'orders', { spec: { size: 2 } })
  expect(patched.spec.size).toBe(2)
  const replaced = await cluster.replace(Database, { ...patched, spec: { ...spec, size: 3 } })
  expect(replaced.spec.size).toBe(3)
  expect((await cluster.get(Database, 'orders')).spec).toEqual({ ...spec, size: 3 })
  expect((await cluster.list(Database, { labelSelector: { tier: 'gold' } })).map(({ spec }) => spec.size)).toEqual([3])
  await cluster.delete(Database, 'orders')
  await cluster.untilGone(Database, 'orders')
})

test('a test cluster writes the given status of an object after its creation', async () => {
  await using cluster = await startCluster({ real })
  const containers = [{ name: 'main', image: 'none' }]
  const pod = await cluster.create('pods', { name: 'web', spec: { containers }, status: { phase: 'Running' } })
  expect(pod.status).toMatchObject({ phase: 'Running' })
})

test('a test cluster refuses objects that violate their CRD', async () => {
  await using cluster = await startCluster({ resources: [Database], real })
  await expect(cluster.create(Database, { name: 'orders', spec: { ...spec, size: 0 } })).rejects.toMatchObject({
    status: 422,
  })
})

test('events in a test cluster are found by their object', async () => {
  const kopf = new Operator()
  kopf.on.create(Database, ({ name, recorder }) => recorder.info('Created', `Hello, ${name}`))
  await using cluster = await startCluster({ resources: [Database], real })
  await using _operator = await kopf.start(cluster)
  const orders = await cluster.create(Database, { name: 'orders', spec })
  await cluster.create(Database, { name: 'others', spec })
  await cluster.settled({ quiet: '2s' })
  const said = (await cluster.events(orders)).filter(({ reason }) => reason === 'Created')
  expect(said.map(({ type, message }) => [type, message])).toEqual([['Normal', 'Hello, orders']])
})

test('initial objects of a test cluster exist before the operator starts', async () => {
  const kopf = new Operator()
  kopf.on.create(Database, ({ patch }) => {
    patch.status.phase = 'Seen'
  })
  const object = { apiVersion: 'testing.example.com/v1', kind: 'Database', metadata: { name: 'orders' }, spec }
  await using cluster = await startCluster({ resources: [Database], objects: [object], real })
  await using _operator = await kopf.start(cluster)
  await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Seen')
})

test('a failed wait in a test cluster reports the current state and the log', async () => {
  const kopf = new Operator()
  kopf.on.create(Database, () => {
    throw new PermanentError('The cloud refused')
  })
  await using cluster = await startCluster({ resources: [Database], real })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec })
  const waiting = cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready', { timeout: '2s' })
  const error = await waiting.then(
    () => undefined,
    (error: Error) => error,
  )
  expect(error).toMatchObject({ code: 'KOPF_CLUSTER_WAIT' })
  expect(error?.message).toContain(
    `Cannot wait any longer, after 2 seconds of the cluster's time: "orders" has not reached the expected state: ({ status }) =>`,
  )
  expect(error?.message).toContain('"engine": "postgres"')
  expect(error?.message).toContain("orders] Handler 'create' failed permanently: The cloud refused")
  await expect(cluster.until(Database, 'nobody', () => true, { timeout: '100ms' })).rejects.toThrow(
    'There is no "nobody".',
  )
  await expect(cluster.untilGone(Database, 'orders', { timeout: '100ms' })).rejects.toThrow('"orders" still exists')
})

test('a test can wait for a condition outside of its cluster', async () => {
  const kopf = new Operator()
  const created: string[] = []
  kopf.on.create(Database, ({ name }) => void created.push(name))
  await using cluster = await startCluster({ resources: [Database], real })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec })
  expect(await cluster.until(() => created[0])).toBe('orders')
})

test('a test can stand between an operator and its test cluster', async () => {
  const kopf = new Operator()
  kopf.on.create(Database, ({ patch }) => {
    patch.status.phase = 'Ready'
  })
  await using cluster = await startCluster({ resources: [Database], real })
  const inner = cluster.openTransport()
  const writes: string[] = []
  const transport: Transport = {
    send(request, signal) {
      if (request.method === 'PATCH') writes.push(request.path.split('?')[0]!.split('/').at(-1)!)
      return inner.send(request, signal)
    },
  }
  await using _operator = await kopf.start({ ...cluster, transport })
  await cluster.create(Database, { name: 'orders', spec })
  await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
  expect(writes).toContain('status')
})

test('a test cluster stops in good order after the test has deleted a CRD', async () => {
  const cluster = await startCluster({ resources: [Database], real })
  await cluster.delete('customresourcedefinitions', 'databases.testing.example.com')
  await cluster.untilGone('customresourcedefinitions', 'databases.testing.example.com')
  await cluster.stop()
})

test('a CRD of a test cluster is deleted although its conversion webhook has no server and objects have finalizers', async () => {
  const name = 'relics.testing.example.com'
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: 'testing.example.com',
      scope: 'Cluster',
      names: { plural: 'relics', kind: 'Relic' },
      versions: ['v1', 'v2'].map((version) => ({ name: version, served: true, storage: version === 'v1', schema })),
    },
  }
  const cluster = await startCluster({ manifests: [definition], real })
  await cluster.create('relics.v1.testing.example.com', { name: 'one', metadata: { finalizers: ['example.com/held'] } })
  const clientConfig = { url: 'https://127.0.0.1:1/convert' }
  const webhook = { conversionReviewVersions: ['v1'], clientConfig }
  await cluster.patch('customresourcedefinitions', name, { spec: { conversion: { strategy: 'Webhook', webhook } } })
  await cluster.stop()
  if (!isReal) return
  await using other = await startCluster({ real })
  await other.untilGone('customresourcedefinitions', name)
})

test('test clusters that run side by side do not share objects', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(Database, ({ name }) => void seen.push(name))
  await using one = await startCluster({ resources: [Database], real })
  await using other = await startCluster({ resources: [Database], real })
  await using _operator = await kopf.start(one)
  await other.create(Database, { name: 'elsewhere', spec })
  await one.create(Database, { name: 'here', spec })
  await one.settled({ quiet: '1s' })
  expect(seen).toEqual(['here'])
})

test('a test cluster stops an operator that is left running, and reports an error', async () => {
  const kopf = new Operator()
  let isClean = false
  kopf.on.event(Database, () => {})
  kopf.on.cleanup(() => {
    isClean = true
  })
  const cluster = await startCluster({ resources: [Database], real })
  const running = await kopf.start(cluster)
  await expect(cluster.stop()).rejects.toThrow(
    'Cannot close the cluster cleanly: an operator was still running on it, and had to be stopped; start operators with',
  )
  await running.done
  expect(isClean).toBe(true)
})
