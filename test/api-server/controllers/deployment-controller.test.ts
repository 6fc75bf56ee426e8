/** Deployments on the embedded server with controllers: rollouts, scaling, status and deletion. */
import { resource } from 'kopf'
import { type Cluster, startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { condition, deployment, type Loose, podsOf, template } from './workload-manifests.ts'

const deployments = resource('apps/v1', 'deployments')
const replicaSets = resource('apps/v1', 'replicasets')

const isRolledOut = ({ status, spec, metadata }: Loose): boolean =>
  status?.observedGeneration === metadata.generation &&
  status.updatedReplicas === spec.replicas &&
  status.replicas === spec.replicas &&
  status.availableReplicas === spec.replicas

async function rolledOut(cluster: Cluster, name = 'web'): Promise<Loose> {
  return cluster.until(deployments, name, isRolledOut)
}

test('a Deployment gets a ReplicaSet and pods on a node, and becomes available', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await cluster.create(deployments, deployment({ replicas: 3 }))
  const { status, metadata } = await rolledOut(cluster)
  expect(metadata.annotations).toEqual({ 'deployment.kubernetes.io/revision': '1' })
  expect(status).toMatchObject({ readyReplicas: 3, availableReplicas: 3, updatedReplicas: 3 })
  expect(condition(status, 'Available')).toMatchObject({ status: 'True', reason: 'MinimumReplicasAvailable' })
  expect(condition(status, 'Progressing')).toMatchObject({ status: 'True', reason: 'NewReplicaSetAvailable' })
  const pods = await podsOf(cluster, 'app=web')
  expect(pods.map(({ status, spec }) => [status.phase, spec.nodeName])).toEqual(Array(3).fill(['Running', 'embedded']))
  for (const { metadata } of pods) expect(metadata.name).toMatch(/^web-[4-9bcdf]{6,10}-[b-df-hj-np-tv-xz2456789]{5}$/)
})

test('a new template of a Deployment is rolled out within maxSurge and maxUnavailable', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
  await cluster.create(
    deployments,
    deployment({ replicas: 3, strategy, template: template({ pod: 'ready after 10s' }) }),
  )
  await rolledOut(cluster)
  const seen: number[][] = []
  await cluster.patch(deployments, 'web', {
    spec: { template: template({ pod: 'ready after 10s', image: 'nginx:2' }) },
  })
  await cluster.until(deployments, 'web', (object) => {
    const { replicas = 0, availableReplicas = 0 } = object.status
    seen.push([replicas, availableReplicas])
    return isRolledOut(object)
  })
  for (const [replicas, available] of seen) {
    expect(replicas).toBeLessThanOrEqual(4)
    expect(available).toBeGreaterThanOrEqual(3)
  }
  const sets = await cluster.list(replicaSets)
  expect(
    sets
      .map(({ spec, metadata }) => [metadata.annotations!['deployment.kubernetes.io/revision'], spec.replicas])
      .sort(),
  ).toEqual([
    ['1', 0],
    ['2', 3],
  ])
})

test('a rollback of a Deployment reuses the old ReplicaSet under a new revision', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await cluster.create(deployments, deployment({ replicas: 1 }))
  await rolledOut(cluster)
  for (const image of ['nginx:2', 'nginx:1']) {
    await cluster.patch(deployments, 'web', { spec: { template: template({ image }) } })
    await rolledOut(cluster)
  }
  const sets = await cluster.list(replicaSets)
  const annotations = sets
    .map(({ metadata }) => metadata.annotations)
    .find((one) => one!['deployment.kubernetes.io/revision'] === '3')
  expect(annotations!['deployment.kubernetes.io/revision-history']).toBe('1')
  expect(sets).toHaveLength(2)
})

test('a Deployment with the strategy Recreate deletes all old pods before the first new one', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await cluster.create(
    deployments,
    deployment({ replicas: 2, strategy: { type: 'Recreate' }, template: template({ pod: 'stop after 10s' }) }),
  )
  await rolledOut(cluster)
  await cluster.patch(deployments, 'web', { spec: { template: template({ image: 'nginx:2' }) } })
  const images = new Set<string>()
  await cluster.until(deployments, 'web', isRolledOut)
  for (const { spec } of await podsOf(cluster, 'app=web')) images.add(spec.containers[0].image)
  expect([...images]).toEqual(['nginx:2'])
})

test('a paused Deployment rolls out nothing, but scales', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await cluster.create(deployments, deployment({ replicas: 1 }))
  await rolledOut(cluster)
  await cluster.patch(deployments, 'web', {
    spec: { paused: true, replicas: 2, template: template({ image: 'nginx:2' }) },
  })
  const { status } = await cluster.until(deployments, 'web', ({ status }) => status.availableReplicas === 2)
  expect(condition(status, 'Progressing')).toMatchObject({ status: 'Unknown', reason: 'DeploymentPaused' })
  expect((await podsOf(cluster, 'app=web')).map(({ spec }) => spec.containers[0].image)).toEqual(['nginx:1', 'nginx:1'])
  await cluster.patch(deployments, 'web', { spec: { paused: false } })
  await rolledOut(cluster)
})

test('a Deployment whose pods never become ready exceeds its progress deadline', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await cluster.create(
    deployments,
    deployment({ progressDeadlineSeconds: 60, template: template({ pod: 'never ready' }) }),
  )
  const { status } = await cluster.until(
    deployments,
    'web',
    ({ status }) => condition(status, 'Progressing')?.status === 'False',
  )
  expect(condition(status, 'Progressing').reason).toBe('ProgressDeadlineExceeded')
  expect(condition(status, 'Available')).toMatchObject({ status: 'False', reason: 'MinimumReplicasUnavailable' })
})

test('a Deployment keeps as many old ReplicaSets as its revisionHistoryLimit', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await cluster.create(deployments, deployment({ replicas: 1, revisionHistoryLimit: 1 }))
  for (const image of ['nginx:2', 'nginx:3', 'nginx:4']) {
    await rolledOut(cluster)
    await cluster.patch(deployments, 'web', { spec: { template: template({ image }) } })
  }
  await rolledOut(cluster)
  await cluster.settled()
  const revisions = (await cluster.list(replicaSets)).map(
    ({ metadata }) => metadata.annotations!['deployment.kubernetes.io/revision'],
  )
  expect(revisions.sort()).toEqual(['3', '4'])
})

test('scaling a Deployment during a rollout scales both ReplicaSets in proportion', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 2 } }
  await cluster.create(deployments, deployment({ replicas: 10, strategy }))
  await rolledOut(cluster)
  await cluster.patch(deployments, 'web', { spec: { template: template({ pod: 'never ready' }) } })
  await cluster.settled()
  await cluster.patch(deployments, 'web', { spec: { replicas: 20 } })
  await cluster.settled()
  const sizes = (await cluster.list(replicaSets)).map(({ spec }) => spec.replicas).sort((a, b) => a - b)
  expect(sizes).toEqual([7, 15])
})

test('the deletion of a Deployment deletes its ReplicaSets and pods', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await cluster.create(deployments, deployment({ replicas: 2 }))
  await rolledOut(cluster)
  await cluster.delete(deployments, 'web')
  await cluster.settled()
  expect(await cluster.list(replicaSets)).toEqual([])
  expect(await podsOf(cluster, 'app=web')).toEqual([])
})
