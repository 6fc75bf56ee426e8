/** Replica sets, stateful sets and daemon sets on the embedded server with controllers. */
import { resource } from 'kopf'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { podsOf, template } from './workload-manifests.ts'

const replicaSets = resource('apps/v1', 'replicasets')
const statefulSets = resource('apps/v1', 'statefulsets')
const daemonSets = resource('apps/v1', 'daemonsets')
const pods = resource('v1', 'pods')
const claims = resource('v1', 'persistentvolumeclaims')

const set = (spec: object = {}, behaviour?: string) => ({
  name: 'web',
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: template(behaviour === undefined ? {} : { pod: behaviour }),
    ...spec,
  },
})

test('a ReplicaSet adopts matching pods without a controller, and creates only the missing ones', async () => {
  await using cluster = await startCluster({ controllers: ['replicasets'] })
  await cluster.create(pods, { name: 'stray', ...template().metadata, spec: template().spec })
  await cluster.create(replicaSets, set({ replicas: 2 }))
  await cluster.until(replicaSets, 'web', ({ status }) => status.availableReplicas === 2)
  const stray = await cluster.get(pods, 'stray')
  expect(stray.metadata.ownerReferences).toMatchObject([
    { kind: 'ReplicaSet', name: 'web', controller: true, blockOwnerDeletion: true },
  ])
  expect(await podsOf(cluster)).toHaveLength(2)
})

test('a ReplicaSet releases a pod that it no longer selects, and replaces it', async () => {
  await using cluster = await startCluster({ controllers: ['replicasets'] })
  await cluster.create(replicaSets, set({ replicas: 1 }))
  await cluster.until(replicaSets, 'web', ({ status }) => status.availableReplicas === 1)
  const [first] = await podsOf(cluster)
  await cluster.patch(pods, first!['metadata'].name, { metadata: { labels: { app: 'quarantine' } } })
  await cluster.settled()
  expect((await cluster.get(pods, first!['metadata'].name)).metadata.ownerReferences).toBeUndefined()
  expect(await podsOf(cluster, 'app=web')).toHaveLength(1)
})

test('a ReplicaSet replaces deleted pods, and deletes surplus pods', async () => {
  await using cluster = await startCluster({ controllers: ['replicasets'] })
  await cluster.create(replicaSets, set({ replicas: 3 }))
  await cluster.until(replicaSets, 'web', ({ status }) => status.availableReplicas === 3)
  const [first] = await podsOf(cluster)
  await cluster.delete(pods, first!['metadata'].name)
  await cluster.settled()
  expect(await podsOf(cluster)).toHaveLength(3)
  await cluster.patch(replicaSets, 'web', { spec: { replicas: 1 } })
  await cluster.settled()
  const { status } = await cluster.get(replicaSets, 'web')
  expect(status).toMatchObject({ replicas: 1, readyReplicas: 1, availableReplicas: 1, observedGeneration: 2 })
  expect(await podsOf(cluster)).toHaveLength(1)
})

test('pods count as available after minReadySeconds', async () => {
  await using cluster = await startCluster({ controllers: ['replicasets'] })
  await cluster.create(replicaSets, set({ replicas: 1, minReadySeconds: 60 }))
  await cluster.until(replicaSets, 'web', ({ status }) => status.readyReplicas === 1)
  const sinceMs = cluster.clock.now()
  await cluster.until(replicaSets, 'web', ({ status }) => status.availableReplicas === 1)
  expect(cluster.clock.now() - sinceMs).toBeGreaterThan(58_000)
})

test('a ReplicaSet creates hundreds of pods', async () => {
  await using cluster = await startCluster({ controllers: ['replicasets'] })
  await cluster.create(replicaSets, set({ replicas: 600 }))
  await cluster.until(replicaSets, 'web', ({ status }) => status.availableReplicas === 600, { patience: '20s' })
})

test('the pods of a StatefulSet are created one after the other, each with its claim', async () => {
  await using cluster = await startCluster({ controllers: ['statefulsets'] })
  const volumeClaimTemplates = [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ]
  await cluster.create(statefulSets, set({ replicas: 3, serviceName: 'web', volumeClaimTemplates }, 'ready after 10s'))
  await cluster.until(pods, 'web-0', ({ status }) => status.phase === 'Running')
  expect(await podsOf(cluster)).toHaveLength(1)
  const { status } = await cluster.until(statefulSets, 'web', ({ status }) => status.availableReplicas === 3)
  expect(status).toMatchObject({ replicas: 3, currentReplicas: 3, updatedReplicas: 3 })
  expect(status.currentRevision).toBe(status.updateRevision)
  const bound = await cluster.list(claims)
  expect(bound.map(({ metadata, status }) => [metadata.name, status.phase])).toEqual([
    ['data-web-0', 'Bound'],
    ['data-web-1', 'Bound'],
    ['data-web-2', 'Bound'],
  ])
  const pod = await cluster.get(pods, 'web-1')
  expect(pod.metadata.labels).toMatchObject({
    'apps.kubernetes.io/pod-index': '1',
    'statefulset.kubernetes.io/pod-name': 'web-1',
  })
  expect(pod.spec).toMatchObject({ hostname: 'web-1', subdomain: 'web' })
})

test('a StatefulSet is updated and scaled down from its highest ordinal', async () => {
  await using cluster = await startCluster({ controllers: ['statefulsets'] })
  await cluster.create(
    statefulSets,
    set({
      replicas: 3,
      serviceName: 'web',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
    }),
  )
  await cluster.until(statefulSets, 'web', ({ status }) => status.availableReplicas === 3)
  await cluster.patch(statefulSets, 'web', { spec: { template: template({ image: 'nginx:2' }) } })
  const { status } = await cluster.until(
    statefulSets,
    'web',
    ({ status }) => status.updatedReplicas === 2 && status.availableReplicas === 3,
  )
  expect(status.currentRevision).not.toBe(status.updateRevision)
  const images = (await podsOf(cluster)).map(({ metadata, spec }) => [metadata.name, spec.containers[0].image])
  expect(images).toEqual([
    ['web-0', 'nginx:1'],
    ['web-1', 'nginx:2'],
    ['web-2', 'nginx:2'],
  ])
  await cluster.patch(statefulSets, 'web', { spec: { replicas: 1 } })
  await cluster.settled()
  expect((await podsOf(cluster)).map(({ metadata }) => metadata.name)).toEqual(['web-0'])
})

test('the pods of a StatefulSet with podManagementPolicy Parallel are created at once', async () => {
  await using cluster = await startCluster({ controllers: ['statefulsets'] })
  await cluster.create(
    statefulSets,
    set({ replicas: 3, serviceName: 'web', podManagementPolicy: 'Parallel' }, 'never ready'),
  )
  await cluster.settled()
  expect(await podsOf(cluster)).toHaveLength(3)
})

test('a DaemonSet has a pod on each node, also on new nodes', async () => {
  await using cluster = await startCluster({ controllers: ['daemonsets'] })
  await cluster.create(daemonSets, set())
  const { status } = await cluster.until(daemonSets, 'web', ({ status }) => status.numberAvailable === 1)
  expect(status).toMatchObject({ desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 1 })
  await cluster.create(['v1', 'nodes'], { name: 'second', status: { conditions: [{ type: 'Ready', status: 'True' }] } })
  await cluster.until(daemonSets, 'web', ({ status }) => status.numberAvailable === 2)
  expect((await podsOf(cluster)).map(({ spec }) => spec.nodeName).sort()).toEqual(['embedded', 'second'])
})

test('a new template of a DaemonSet is rolled out node by node', async () => {
  await using cluster = await startCluster({ controllers: ['daemonsets'] })
  await cluster.create(['v1', 'nodes'], { name: 'second', status: { conditions: [{ type: 'Ready', status: 'True' }] } })
  await cluster.create(daemonSets, set())
  await cluster.until(daemonSets, 'web', ({ status }) => status.numberAvailable === 2)
  await cluster.patch(daemonSets, 'web', { spec: { template: template({ image: 'nginx:2' }) } })
  const fewest: number[] = []
  await cluster.until(daemonSets, 'web', ({ status, metadata }) => {
    fewest.push(status.numberAvailable ?? 0)
    return (
      status.observedGeneration === metadata.generation &&
      status.updatedNumberScheduled === 2 &&
      status.numberAvailable === 2
    )
  })
  expect(Math.min(...fewest)).toBeGreaterThanOrEqual(1)
  expect((await podsOf(cluster)).map(({ spec }) => spec.containers[0].image)).toEqual(['nginx:2', 'nginx:2'])
})
