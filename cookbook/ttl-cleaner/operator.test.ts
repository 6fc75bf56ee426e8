import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource } from 'kopf'
import { type Cluster, startCluster, type Transport } from 'kopf/testing'
import { createCleaner } from './cleaner.ts'
import { readConfig } from './config.ts'
import { expiryOf, parseTtl } from './expiry.ts'

const config = readConfig({ TTL_KINDS: 'namespaces,configmaps,secrets' })
const kopf = createCleaner(config)
const ttl = (value: string) => ({ annotations: { 'example.com/ttl': value } })
const objects = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }]
const inTeam = { namespace: 'team' }

test('an object is deleted when its time to live is over, and not before', async () => {
  await using cluster = await startCluster({ objects })
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name: 'report', ...inTeam, ...ttl('24h') })
  await cluster.create('configmaps', { name: 'plain', ...inTeam })
  await cluster.clock.advance('23h')
  assert.equal((await cluster.get('configmaps', 'report', inTeam)).metadata.name, 'report')
  await cluster.clock.advance('1h')
  await cluster.untilGone('configmaps', 'report', inTeam)
  assert.equal((await cluster.get('configmaps', 'plain', inTeam)).metadata.name, 'plain')
})

test('an object that waits costs no requests', async () => {
  await using cluster = await startCluster({ objects })
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name: 'report', ...inTeam, ...ttl('24h') })
  await cluster.settled()
  cluster.requests.clear()
  await cluster.clock.advance('23h')
  const writes = cluster.requests.last({ resource: 'configmaps' }).filter(({ verb }) => verb !== 'watch')
  assert.deepEqual(writes, [])
})

test('an object whose time was over while the operator was away is deleted at the start', async () => {
  await using cluster = await startCluster({ objects })
  await cluster.create('secrets', { name: 'old', ...inTeam, ...ttl('90d') })
  await cluster.clock.advance('91d')
  await using _operator = await kopf.start(cluster)
  await cluster.untilGone('secrets', 'old', inTeam)
})

test('a changed annotation changes the time, and a removed one keeps the object', async () => {
  await using cluster = await startCluster({ objects })
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name: 'longer', ...inTeam, ...ttl('1h') })
  await cluster.create('configmaps', { name: 'kept', ...inTeam, ...ttl('1h') })
  await cluster.clock.advance('50m')
  await cluster.patch('configmaps', 'longer', { metadata: ttl('3h') }, inTeam)
  await cluster.patch('configmaps', 'kept', { metadata: { annotations: { 'example.com/ttl': null } } }, inTeam)
  await cluster.clock.advance('1h')
  assert.equal((await cluster.list('configmaps', inTeam)).length, 2)
  await cluster.clock.advance('2h')
  await cluster.untilGone('configmaps', 'longer', inTeam)
  assert.equal((await cluster.get('configmaps', 'kept', inTeam)).metadata.name, 'kept')
})

test('an object is deleted at the time in its annotation', async () => {
  await using cluster = await startCluster({ objects })
  await using _operator = await kopf.start(cluster)
  const annotations = { 'example.com/expires-at': new Date(cluster.clock.now() + 3_600_000).toISOString() }
  await cluster.create('secrets', { name: 'campaign', ...inTeam, annotations })
  await cluster.clock.advance('59m')
  assert.equal((await cluster.list('secrets', inTeam)).length, 1)
  await cluster.clock.advance('2m')
  await cluster.untilGone('secrets', 'campaign', inTeam)
})

test('an object with a malformed value stays, and one Event says what to write', async () => {
  await using cluster = await startCluster({ objects })
  await using _operator = await kopf.start(cluster)
  const mistake = await cluster.create('configmaps', { name: 'mistake', ...inTeam, ...ttl('tomorrow') })
  await cluster.settled()
  await cluster.patch('configmaps', 'mistake', { data: { changed: 'yes' } }, inTeam)
  await cluster.settled()
  const events = await cluster.events(mistake)
  assert.equal(events.length, 1)
  assert.equal(events[0]?.type, 'Warning')
  assert.equal(events[0]?.reason, 'InvalidTTL')
  assert.match(events[0]?.message ?? '', /example\.com\/ttl is "tomorrow": write a duration/)
  assert.equal((await cluster.get('configmaps', 'mistake', inTeam)).metadata.name, 'mistake')
})

test('protected namespaces and objects with a controller stay', async () => {
  await using cluster = await startCluster({ objects })
  await using _operator = await kopf.start(cluster)
  const inSystem = { namespace: 'kube-system' }
  await cluster.create('configmaps', { name: 'important', ...inSystem, ...ttl('1h') })
  const owner = await cluster.create('configmaps', { name: 'owner', ...inTeam })
  const reference = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: 'owner',
    uid: owner.metadata.uid ?? '',
    controller: true,
  }
  const metadata = { ownerReferences: [reference] }
  const controlled = await cluster.create('configmaps', { name: 'controlled', ...inTeam, ...ttl('1h'), metadata })
  await cluster.patch('namespaces', 'kube-system', { metadata: ttl('1h') })
  await cluster.settled()
  const [event] = await cluster.events(controlled)
  assert.equal(event?.message, 'ConfigMap "owner" controls the object: annotate that instead')
  await cluster.clock.advance('2h')
  assert.equal((await cluster.get('configmaps', 'important', inSystem)).metadata.name, 'important')
  assert.equal((await cluster.get('namespaces', 'kube-system')).metadata.deletionTimestamp, undefined)
  assert.equal((await cluster.get('configmaps', 'controlled', inTeam)).metadata.name, 'controlled')
})

test('a namespace is deleted with everything in it', async () => {
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('namespaces', { name: 'preview-42', ...ttl('1h') })
  await cluster.create('configmaps', { name: 'content', namespace: 'preview-42' })
  await cluster.clock.advance('2h')
  await cluster.untilGone('namespaces', 'preview-42')
})

/** Runs an action before the first deletion reaches the API server. */
function beforeDeletion(cluster: Cluster, action: () => Promise<unknown>): Transport {
  const inner = cluster.openTransport()
  let isFirst = true
  return {
    async send(request, signal) {
      if (request.method === 'DELETE' && isFirst) {
        isFirst = false
        await action()
      }
      return inner.send(request, signal)
    },
  }
}

test('an object whose time is extended at the last moment stays', async () => {
  await using cluster = await startCluster({ objects })
  const transport = beforeDeletion(cluster, () => {
    return cluster.patch('configmaps', 'report', { metadata: ttl('3h') }, inTeam)
  })
  await using _operator = await kopf.start({ ...cluster, transport })
  await cluster.create('configmaps', { name: 'report', ...inTeam, ...ttl('1h') })
  await cluster.clock.advance('2h')
  assert.equal((await cluster.get('configmaps', 'report', inTeam)).metadata.deletionTimestamp, undefined)
  await cluster.clock.advance('2h')
  await cluster.untilGone('configmaps', 'report', inTeam)
})

test('an object that is created again at the last moment has its own time to live', async () => {
  await using cluster = await startCluster({ objects })
  const transport = beforeDeletion(cluster, async () => {
    await cluster.delete('configmaps', 'report', inTeam)
    await cluster.create('configmaps', { name: 'report', ...inTeam, ...ttl('1h'), data: { run: 'second' } })
  })
  await using _operator = await kopf.start({ ...cluster, transport })
  await cluster.create('configmaps', { name: 'report', ...inTeam, ...ttl('1h') })
  await cluster.clock.advance('61m')
  assert.deepEqual((await cluster.get('configmaps', 'report', inTeam)).data, { run: 'second' })
})

test('a dry run reports an expired object once, and deletes nothing', async () => {
  await using cluster = await startCluster({ objects })
  await using _operator = await createCleaner({ ...config, isDryRun: true }).start(cluster)
  const report = await cluster.create('configmaps', { name: 'report', ...inTeam, ...ttl('1h') })
  await cluster.clock.advance('61m')
  await cluster.patch('configmaps', 'report', { data: { changed: 'yes' } }, inTeam)
  await cluster.settled()
  const events = await cluster.events(report)
  assert.deepEqual(
    events.map(({ reason }) => reason),
    ['WouldDelete'],
  )
  assert.equal((await cluster.get('configmaps', 'report', inTeam)).metadata.deletionTimestamp, undefined)
})

test('with "*", objects of every kind in a namespace expire', async () => {
  const Widget = defineResource({ group: 'example.com', version: 'v1', kind: 'Widget' })
  await using cluster = await startCluster({ resources: [Widget], objects })
  await using _operator = await createCleaner(readConfig({ TTL_KINDS: '*' })).start(cluster)
  await cluster.create(Widget, { name: 'one', ...inTeam, ...ttl('2h') })
  await cluster.create('serviceaccounts', { name: 'two', ...inTeam, ...ttl('2h') })
  await cluster.clock.advance('3h')
  await cluster.untilGone(Widget, 'one', inTeam)
  await cluster.untilGone('serviceaccounts', 'two', inTeam)
})

test('with "*", objects without a namespace stay, since other objects would be deleted with them', async () => {
  const Widget = defineResource({ group: 'example.com', version: 'v1', kind: 'Widget' })
  await using cluster = await startCluster({ resources: [Widget], objects })
  await using _operator = await createCleaner(readConfig({ TTL_KINDS: '*' })).start(cluster)
  const expired = [
    await cluster.patch('customresourcedefinitions', 'widgets.example.com', { metadata: ttl('1h') }),
    await cluster.patch('namespaces', 'team', { metadata: ttl('1h') }),
  ]
  await cluster.settled()
  for (const one of expired) {
    const [event] = await cluster.events(one)
    assert.equal(event?.message, 'An object without a namespace is deleted only if TTL_KINDS lists its resource')
  }
  await cluster.clock.advance('2h')
  const crd = await cluster.get('customresourcedefinitions', 'widgets.example.com')
  const namespace = await cluster.get('namespaces', 'team')
  assert.deepEqual([crd.metadata.deletionTimestamp, namespace.metadata.deletionTimestamp], [undefined, undefined])
})

test('durations have units in descending order', () => {
  const hour = 3_600_000
  const valid = { '90s': 90_000, '24h': 24 * hour, '1h30m': 1.5 * hour, '7d': 168 * hour, '1w1d': 192 * hour }
  for (const [text, expected] of Object.entries(valid)) assert.equal(parseTtl(text), expected, text)
  for (const text of ['', '5', '0s', '-1h', '1.5h', '30m1h', '1h1h', '24H', ' 1h', '99999d', `${'9'.repeat(400)}d`]) {
    assert.equal(parseTtl(text), undefined, text)
  }
})

test('times need a time zone, and only one annotation is allowed', () => {
  const at = (value: string) => expiryOf({ 'example.com/expires-at': value }, undefined)
  assert.deepEqual(at('2030-01-31T18:00:00+02:00'), { type: 'at', timeMs: Date.UTC(2030, 0, 31, 16) })
  for (const text of ['2030-01-31', '2030-01-31T18:00:00', '2030-13-31T18:00:00Z', 'soon']) {
    assert.equal(at(text).type, 'keep', text)
  }
  const both = { 'example.com/ttl': '1h', 'example.com/expires-at': '2030-01-31T18:00:00Z' }
  assert.equal(expiryOf(both, '2029-01-01T00:00:00Z').type, 'keep')
})

test('the message about a huge value is short', () => {
  for (const annotation of ['example.com/ttl', 'example.com/expires-at']) {
    const expiry = expiryOf({ [annotation]: '9'.repeat(250_000) }, '2030-01-01T00:00:00Z')
    assert.ok(expiry.type === 'keep')
    assert.ok(expiry.message.length < 200)
  }
})

test('a misspelt configuration is refused', () => {
  assert.throws(() => readConfig({ TTL_DRY_RUN: 'yes' }), /TTL_DRY_RUN is "true" or "false", not "yes"/)
  assert.throws(() => readConfig({ TTL_KINDS: '*,pods' }), /either "\*" or a list/)
  assert.deepEqual(readConfig({ TTL_KINDS: 'pods, jobs.batch' }).kinds, ['pods', 'jobs.batch'])
  assert.deepEqual(readConfig({ TTL_KINDS: 'pods,pods' }).kinds, ['pods'])
  assert.deepEqual(readConfig({ TTL_PROTECTED_NAMESPACES: '' }).protectedNamespaces, [])
})
