/** Webhooks review the requests of the embedded controllers: user names, changes and refusals. */
import { AdmissionError, Operator } from 'kopf'
import { startCluster } from 'kopf/testing'
import { WebhookServer } from 'kopf/webhooks'
import { expect, test } from 'vitest'
import { deployment, podsOf } from './workload-manifests.ts'

function withWebhooks(): Operator {
  const kopf = new Operator()
  kopf.on.startup(({ settings }) => {
    settings.admission.server = new WebhookServer({ addr: '127.0.0.1', host: '127.0.0.1' })
    settings.admission.managed = 'life.example.com'
  })
  return kopf
}

test('webhooks see the user names of the real controllers, and their patches are applied', async () => {
  const kopf = withWebhooks()
  const users = new Map<string, string>()
  kopf.on.mutate('pods', { operations: ['CREATE'] }, ({ userinfo, patch }) => {
    users.set('pods', String(userinfo['username']))
    patch.metadata.labels['seen'] = 'yes'
  })
  kopf.on.validate('replicasets', { operations: ['CREATE'] }, ({ userinfo }) => {
    users.set('replicasets', String(userinfo['username']))
  })
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(['apps/v1', 'deployments'], deployment({ replicas: 2 }))
  await cluster.until(['apps/v1', 'deployments'], 'web', ({ status }) => status?.availableReplicas === 2)
  expect(await podsOf(cluster, 'seen=yes')).toHaveLength(2)
  expect(Object.fromEntries(users)).toEqual({
    pods: 'system:serviceaccount:kube-system:replicaset-controller',
    replicasets: 'system:serviceaccount:kube-system:deployment-controller',
  })
})

test('a pod that a webhook refuses is reported in the status of its Deployment, and created later', async () => {
  const kopf = withWebhooks()
  let isOpen = false
  kopf.on.validate('pods', { operations: ['CREATE'] }, () => {
    if (!isOpen) throw new AdmissionError('not now')
  })
  await using cluster = await startCluster({ controllers: ['deployments'] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(['apps/v1', 'deployments'], deployment({ replicas: 1 }))
  const { status } = await cluster.until(['apps/v1', 'deployments'], 'web', ({ status }) =>
    status?.conditions?.some(({ type }) => type === 'ReplicaFailure'),
  )
  const failure = status?.conditions?.find(({ type }) => type === 'ReplicaFailure')
  expect(failure).toMatchObject({ status: 'True', reason: 'FailedCreate' })
  expect(failure?.message).toContain('not now')
  isOpen = true
  const well = await cluster.until(['apps/v1', 'deployments'], 'web', ({ status }) => status?.availableReplicas === 1)
  expect(well.status?.conditions?.map(({ type }) => type).sort()).toEqual(['Available', 'Progressing'])
})
