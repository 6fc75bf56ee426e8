/** Deployments on the embedded server with controllers: what an operator that creates one gets to see. */
import { type Cluster, startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { condition, deployment, type Loose, podsOf, template } from './manifests.ts'

const deployments = ['apps/v1', 'deployments'] as const
const replicaSets = ['apps/v1', 'replicasets'] as const

const isRolledOut = ({ status, spec, metadata }: Loose): boolean =>
  status?.observedGeneration === metadata.generation &&
  status.updatedReplicas === spec.replicas &&
  status.replicas === spec.replicas &&
  status.availableReplicas === spec.replicas

async function rolledOut(cluster: Cluster, name = 'web'): Promise<Loose> {
  return cluster.until(deployments, name, isRolledOut)
}

test('a deployment gets a replica set, pods on a node, and becomes available', async () => {
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

test('a new template is rolled out step by step, never with fewer or more pods than allowed', async () => {
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

test('going back to an old template takes its replica set again, under a new revision', async () => {
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

test('those that are created anew have no old pod left before the first new one', async () => {
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

test('while it is paused nothing is rolled out, and scaling still works', async () => {
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

test('pods that never become ready end in an exceeded deadline', async () => {
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

test('old replica sets are kept as many as the history is long', async () => {
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

test('in the midst of a rollout, both sides are scaled in proportion', async () => {
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

test('deleting it deletes its replica sets and pods', async () => {
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await cluster.create(deployments, deployment({ replicas: 2 }))
  await rolledOut(cluster)
  await cluster.delete(deployments, 'web')
  await cluster.settled()
  expect(await cluster.list(replicaSets)).toEqual([])
  expect(await podsOf(cluster, 'app=web')).toEqual([])
})
