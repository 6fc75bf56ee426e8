import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Namespace, Secret } from 'kopf/kubernetes'
import { type Cluster, startCluster } from 'kopf/testing'
import { toLabelSelector } from './namespaces.ts'
import kopf from './operator.ts'
import { Replication } from './replication.ts'

const password = Buffer.from('s3cret-value').toString('base64')
const changed = Buffer.from('another-value').toString('base64')
const spec = {
  source: { kind: 'Secret', namespace: 'platform', name: 'registry' },
  namespaceSelector: { matchLabels: { team: 'yes' } },
} as const

const inA = { namespace: 'team-a' }
const inB = { namespace: 'team-b' }

/** A cluster with a source, two namespaces that match and one that does not. */
async function startTeams(): Promise<Cluster> {
  const cluster = await startCluster({ resources: [Replication] })
  for (const name of ['platform', 'private']) await cluster.create(Namespace, { name })
  for (const name of ['team-a', 'team-b']) await cluster.create(Namespace, { name, labels: { team: 'yes' } })
  await cluster.create(Secret, { name: 'registry', namespace: 'platform', data: { password } })
  return cluster
}

function untilReady(cluster: Cluster, copies: number, reason = 'Replicated') {
  return cluster.until(Replication, 'registry', ({ status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    return ready?.reason === reason && status?.copies === copies
  })
}

test('each matching namespace gets a copy, and no other namespace', async () => {
  await using cluster = await startTeams()
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  await untilReady(cluster, 2)
  const secrets = await cluster.list(Secret, { namespace: null })
  const places = secrets.map(({ metadata }) => metadata.namespace).sort()
  assert.deepEqual(places, ['platform', 'team-a', 'team-b'])
  const copy = await cluster.get(Secret, 'registry', inA)
  assert.deepEqual(copy.data, { password })
  assert.equal(copy.metadata.ownerReferences?.[0]?.name, 'registry')
  assert.equal(copy.metadata.annotations?.['example.com/replicated-from'], 'platform/registry')
})

test('a changed source is propagated', async () => {
  await using cluster = await startTeams()
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  await untilReady(cluster, 2)
  await cluster.patch(Secret, 'registry', { data: { password: changed, extra: changed } }, { namespace: 'platform' })
  await cluster.until(Secret, 'registry', { data: { password: changed, extra: changed } }, inA)
  await cluster.patch(Secret, 'registry', { data: { extra: null } }, { namespace: 'platform' })
  await cluster.until(Secret, 'registry', ({ data }) => data?.['extra'] === undefined, inB)
})

test('a changed or deleted copy is restored', async () => {
  await using cluster = await startTeams()
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  await untilReady(cluster, 2)
  await cluster.patch(Secret, 'registry', { data: { password: changed } }, inA)
  await cluster.until(Secret, 'registry', { data: { password } }, inA)
  await cluster.delete(Secret, 'registry', inB)
  await cluster.until(Secret, 'registry', { data: { password } }, inB)
})

test('a namespace gets its copy when it starts to match, and loses it when it stops', async () => {
  await using cluster = await startTeams()
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  await untilReady(cluster, 2)
  await cluster.create(Namespace, { name: 'team-c', labels: { team: 'yes' } })
  await cluster.until(Secret, 'registry', { data: { password } }, { namespace: 'team-c' })
  await cluster.patch(Namespace, 'private', { metadata: { labels: { team: 'yes' } } })
  await cluster.until(Secret, 'registry', { data: { password } }, { namespace: 'private' })
  await cluster.patch(Namespace, 'team-a', { metadata: { labels: { team: null } } })
  await cluster.untilGone(Secret, 'registry', inA)
  await untilReady(cluster, 3)
})

test('an object of another author is not overwritten, and its copy is created when the object is gone', async () => {
  await using cluster = await startTeams()
  await cluster.create(Secret, { name: 'registry', ...inA, data: { password: changed } })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  const { status } = await cluster.until(Replication, 'registry', ({ status }) => {
    return status?.copies === 1 && status.conditions?.some(({ reason }) => reason === 'ChildRefused')
  })
  const refused = status?.conditions?.find(({ type }) => type === 'ChildrenApplied')
  assert.match(refused?.message ?? '', /Secret "registry" in the namespace "team-a"/)
  await cluster.until(Secret, 'registry', { data: { password } }, inB)
  assert.deepEqual((await cluster.get(Secret, 'registry', inA)).data, { password: changed })
  await cluster.delete(Secret, 'registry', inA)
  await cluster.until(Secret, 'registry', { data: { password } }, inA)
  await untilReady(cluster, 2)
})

test('copies stay when the source is deleted, and follow it when it is created again with another type', async () => {
  await using cluster = await startTeams()
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  await untilReady(cluster, 2)
  await cluster.delete(Secret, 'registry', { namespace: 'platform' })
  await untilReady(cluster, 2, 'SourceMissing')
  await cluster.patch(Namespace, 'team-b', { metadata: { labels: { team: null } } })
  await cluster.untilGone(Secret, 'registry', inB)
  assert.deepEqual((await cluster.get(Secret, 'registry', inA)).data, { password })
  const recreated = { type: 'example.com/login', immutable: true, data: { password: changed } }
  await cluster.create(Secret, { name: 'registry', namespace: 'platform', ...recreated })
  const expected = { type: 'example.com/login', data: { password: changed } }
  const copy = await cluster.until(Secret, 'registry', expected, inA)
  assert.equal(copy.immutable, undefined)
  await untilReady(cluster, 1)
})

test('a changed spec moves the copies, and deletion of the Replication removes them', async () => {
  await using cluster = await startTeams()
  await cluster.create(ConfigMap, { name: 'proxy', namespace: 'platform', data: { HTTPS_PROXY: 'http://proxy:3128' } })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  await untilReady(cluster, 2)
  const source = { kind: 'ConfigMap', name: 'proxy' } as const
  await cluster.patch(Replication, 'registry', { spec: { source } })
  await cluster.untilGone(Secret, 'registry', inA)
  await cluster.until(ConfigMap, 'proxy', { data: { HTTPS_PROXY: 'http://proxy:3128' } }, inB)
  await cluster.delete(Replication, 'registry')
  await cluster.untilGone(ConfigMap, 'proxy', inA)
  await cluster.untilGone(ConfigMap, 'proxy', inB)
  assert.equal((await cluster.get(ConfigMap, 'proxy', { namespace: 'platform' })).metadata.name, 'proxy')
})

test('values of Secrets are neither logged nor in the status', async () => {
  await using cluster = await startTeams()
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  await untilReady(cluster, 2)
  await cluster.patch(Secret, 'registry', { data: { password: changed } }, inA)
  await cluster.until(Secret, 'registry', { data: { password } }, inA)
  const replication = await cluster.get(Replication, 'registry')
  const texts = [...cluster.logs, JSON.stringify(replication)].join('\n')
  for (const value of [password, changed, 's3cret-value', 'another-value']) assert.ok(!texts.includes(value))
})

test('two Replications of one source do not take copies from each other, and the second continues when the first is deleted', async () => {
  await using cluster = await startTeams()
  await using _operator = await kopf.start(cluster)
  await cluster.create(Replication, { name: 'registry', spec })
  await untilReady(cluster, 2)
  await cluster.create(Replication, { name: 'second', spec })
  await cluster.until(Replication, 'second', ({ status }) => {
    return status?.copies === 0 && status.conditions?.some(({ reason }) => reason === 'ChildRefused')
  })
  const copy = await cluster.get(Secret, 'registry', inA)
  assert.equal(copy.metadata.ownerReferences?.[0]?.name, 'registry')
  await cluster.delete(Replication, 'registry')
  await cluster.until(Replication, 'second', ({ status }) => {
    return status?.copies === 2 && status.conditions?.some(({ reason }) => reason === 'Replicated')
  })
})

test('a namespace selector is written as a query', () => {
  const matchExpressions = [
    { key: 'stage', operator: 'In', values: ['dev', 'test'] },
    { key: 'zone', operator: 'NotIn', values: ['eu'] },
    { key: 'open', operator: 'Exists' },
    { key: 'private', operator: 'DoesNotExist' },
  ] as const
  const query = toLabelSelector({ matchLabels: { team: 'a' }, matchExpressions })
  assert.equal(query, 'team=a,stage in (dev,test),zone notin (eu),open,!private')
  assert.equal(toLabelSelector({}), '')
})
