/** Pods on the embedded server with controllers: scheduling, phases and events, although no container runs. */
import { resource } from 'kopf'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { condition, type Loose, podsOf, template } from './workload-manifests.ts'

const pods = resource('v1', 'pods')
const nodes = resource('v1', 'nodes')

const pod = (behaviour?: string, spec: object = {}) => {
  const { metadata, spec: base } = template(behaviour === undefined ? {} : { pod: behaviour })
  return { name: 'web', ...metadata, spec: { ...base, ...spec } }
}

test('a pod is scheduled, started and becomes ready', async () => {
  await using cluster = await startCluster({ controllers: ['pods'] })
  await cluster.create(pods, pod())
  const { spec, status } = await cluster.until(
    pods,
    'web',
    ({ status }) => condition(status, 'Ready')?.['status'] === 'True',
  )
  expect(spec.nodeName).toBe('embedded')
  expect(status).toMatchObject({ phase: 'Running', hostIP: '192.0.2.1' })
  expect(status.podIP).toMatch(/^10\.244\./)
  expect(status.conditions.map(({ type }: Loose) => type)).toEqual([
    'PodReadyToStartContainers',
    'Initialized',
    'Ready',
    'ContainersReady',
    'PodScheduled',
  ])
  expect(status.containerStatuses[0]).toMatchObject({ name: 'main', ready: true, started: true, restartCount: 0 })
  const node = await cluster.get(nodes, 'embedded')
  expect(condition(node.status, 'Ready')['status']).toBe('True')
  expect(node.spec.taints).toBeUndefined()
})

test('a pod stays as it was created without the pod controller', async () => {
  await using cluster = await startCluster()
  await cluster.create(pods, pod())
  await cluster.settled()
  expect((await cluster.get(pods, 'web')).status.phase).toBe('Pending')
})

test('a pod becomes ready at the time of its annotation', async () => {
  await using cluster = await startCluster({ controllers: ['pods'] })
  await cluster.create(pods, pod('start after 10s, ready after 20s'))
  await cluster.clock.advance('5s')
  expect((await cluster.get(pods, 'web')).status).toMatchObject({
    phase: 'Pending',
    containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }],
  })
  await cluster.clock.advance('10s')
  const started = await cluster.get(pods, 'web')
  expect(started.status.phase).toBe('Running')
  expect(condition(started.status, 'Ready')).toMatchObject({ status: 'False', reason: 'ContainersNotReady' })
  await cluster.clock.advance('20s')
  expect(condition((await cluster.get(pods, 'web')).status, 'Ready')['status']).toBe('True')
})

test.each([
  ['never start', 'Pending', 'ImagePullBackOff'],
  ['dance', 'Pending', 'InvalidBehaviour'],
])('a pod with the annotation "%s" stays %s, with the reason %s', async (behaviour, phase, reason) => {
  await using cluster = await startCluster({ controllers: ['pods'] })
  await cluster.create(pods, pod(behaviour))
  const { status } = await cluster.until(pods, 'web', ({ status }) => status.containerStatuses)
  expect(status.phase).toBe(phase)
  expect(status.containerStatuses[0].state.waiting.reason).toBe(reason)
})

test('a pod whose container fails repeatedly is restarted with increasing delays', async () => {
  await using cluster = await startCluster({ controllers: ['pods'] })
  await cluster.create(pods, pod('fail after 1s with 7'))
  const { status } = await cluster.until(pods, 'web', ({ status }) => status.containerStatuses?.[0].restartCount === 3)
  expect(status.phase).toBe('Running')
  expect(status.containerStatuses[0].lastState.terminated.exitCode).toBe(7)
  const crashed = await cluster.until(pods, 'web', ({ status }) => status.containerStatuses[0].state.waiting)
  expect(crashed.status.containerStatuses[0].state.waiting.reason).toBe('CrashLoopBackOff')
})

test('a deleted pod is gone when its container has stopped, at the latest after its grace period', async () => {
  await using cluster = await startCluster({ controllers: ['pods'] })
  await cluster.create(pods, pod('stop after 10m'))
  await cluster.until(pods, 'web', ({ status }) => status.phase === 'Running')
  const startedMs = cluster.clock.now()
  await cluster.delete(pods, 'web')
  expect((await cluster.get(pods, 'web')).metadata.deletionTimestamp).toBeDefined()
  await cluster.untilGone(pods, 'web')
  const tookMs = cluster.clock.now() - startedMs
  expect(tookMs).toBeGreaterThan(28_000)
  expect(tookMs).toBeLessThan(32_000)
})

test('a pod with a readiness gate is ready when its condition is set', async () => {
  await using cluster = await startCluster({ controllers: ['pods'] })
  await cluster.create(pods, pod(undefined, { readinessGates: [{ conditionType: 'example.com/gate' }] }))
  const { status } = await cluster.until(
    pods,
    'web',
    ({ status }) => condition(status, 'ContainersReady')?.['status'] === 'True',
  )
  expect(condition(status, 'Ready')).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' })
  const conditions = [...status.conditions, { type: 'example.com/gate', status: 'True' }]
  await cluster.patch(pods, 'web', { status: { conditions } }, { subresource: 'status' })
  await cluster.until(pods, 'web', ({ status }) => condition(status, 'Ready')['status'] === 'True')
})

test('an unschedulable pod has a condition with the reason', async () => {
  await using cluster = await startCluster({ controllers: ['pods'] })
  await cluster.create(pods, pod(undefined, { nodeSelector: { disk: 'ssd' } }))
  const { status } = await cluster.until(pods, 'web', ({ status }) => condition(status, 'PodScheduled'))
  expect(condition(status, 'PodScheduled')).toMatchObject({
    reason: 'Unschedulable',
    message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
  })
  await cluster.patch(nodes, 'embedded', { metadata: { labels: { disk: 'ssd' } } })
  await cluster.until(pods, 'web', ({ status }) => status.phase === 'Running')
})

test('a pod past its activeDeadlineSeconds fails', async () => {
  await using cluster = await startCluster({ controllers: ['pods'] })
  await cluster.create(pods, pod(undefined, { activeDeadlineSeconds: 60 }))
  const { status } = await cluster.until(pods, 'web', ({ status }) => status.phase === 'Failed')
  expect(status.reason).toBe('DeadlineExceeded')
  expect(await podsOf(cluster)).toHaveLength(1)
})
