import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cluster, startCluster, type Transport } from 'kopf/testing'
import { Bucket } from './bucket.ts'
import { CloudClient, createClientFromEnvironment } from './cloud-client.ts'
import { CloudServer, type CloudServerOptions } from './cloud-server.ts'
import { createOperator } from './operator.ts'

const token = 'test-token'
const spec = { region: 'eu-1', versioning: true, quotaGb: 50 }

/** A cloud and an operator for it, both by the clock of the cluster. */
async function setUp(cluster: Cluster, options: Partial<CloudServerOptions & { timeoutMs: number }> = {}) {
  const { timeoutMs = 10_000, ...serverOptions } = options
  const now = () => cluster.clock.now()
  const cloud = await CloudServer.start({ token, now, ...serverOptions })
  const kopf = createOperator(() => new CloudClient({ url: cloud.url, token, now, timeoutMs }))
  return { cloud, kopf }
}

const untilReady = (cluster: Cluster, name: string) => untilReason(cluster, name, 'InSync')
const untilReason = (cluster: Cluster, name: string, reason: string) =>
  cluster.until(Bucket, name, ({ status }) =>
    status?.conditions?.some((condition) => condition.type === 'Ready' && condition.reason === reason),
  )

test('a bucket is created at the cloud once, and its address is in a ConfigMap', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  const { metadata, status } = await untilReady(cluster, 'photos')
  const url = 'https://b-1.eu-1.cloud.example.com'
  assert.deepEqual([...cloud.buckets.values()], [{ id: 'b-1', url, owner: metadata.uid, name: 'photos', ...spec }])
  assert.equal(status?.bucketId, 'b-1')
  const { data } = await cluster.until('configmaps', 'photos-bucket', ({ data }) => data !== undefined)
  assert.deepEqual(data, { BUCKET_ID: 'b-1', BUCKET_URL: url })
})

test('a change of the spec is sent to the cloud, and the region cannot be changed', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  await untilReady(cluster, 'photos')
  await cluster.patch(Bucket, 'photos', { spec: { quotaGb: 80 } })
  await cluster.until(() => cloud.buckets.get('b-1')?.quotaGb === 80)
  await assert.rejects(cluster.patch(Bucket, 'photos', { spec: { region: 'us-1' } }), /the region cannot be changed/)
})

test('an operator that crashes after the creation finds its bucket again', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  // The process is dead for the cluster once the cloud has a bucket: nothing is written any more.
  const inner = cluster.openTransport()
  const transport: Transport = {
    async send(request, signal) {
      if (cloud.buckets.size > 0 && request.method !== 'GET') throw new Error('This process is dead')
      return await inner.send(request, signal)
    },
  }
  const crashing = await kopf.start({ ...cluster, transport })
  await cluster.create(Bucket, { name: 'photos', spec })
  await cluster.until(() => cloud.buckets.size === 1)
  await crashing.stop().catch(() => undefined)
  assert.equal((await cluster.get(Bucket, 'photos')).status?.bucketId, undefined)

  await using _operator = await kopf.start(cluster)
  const { status } = await untilReady(cluster, 'photos')
  assert.equal(status?.bucketId, 'b-1')
  assert.equal(cloud.count('POST'), 1)
})

test('a bucket is not created twice if the answer of the cloud is lost, or the list does not show it yet', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  cloud.addFault({ type: 'lost', method: 'POST' })
  // Many clouds list a new bucket only after some seconds: the idempotency key is the only protection then.
  cloud.listDelaySeconds = 600
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  const { status } = await untilReady(cluster, 'photos')
  assert.equal(status?.bucketId, 'b-1')
  assert.equal(cloud.buckets.size, 1)
  assert.equal(cloud.count('POST'), 2)
  // Resyncs while the list still does not show the bucket.
  await cluster.clock.advance('5m')
  assert.deepEqual([...cloud.buckets.keys()], ['b-1'])
})

test('a bucket is not created twice if the spec is changed between a lost answer and the next attempt', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  cloud.addFault({ type: 'lost', method: 'POST' })
  cloud.listDelaySeconds = 600
  await cluster.create(Bucket, { name: 'photos', spec })
  const first = await kopf.start(cluster)
  await cluster.until(() => cloud.buckets.size === 1)
  await first.stop()
  await cluster.patch(Bucket, 'photos', { spec: { quotaGb: 80 } })
  await using _second = await kopf.start(cluster)
  await cluster.until(() => cloud.buckets.get('b-1')?.quotaGb === 80)
  assert.deepEqual([...cloud.buckets.keys()], ['b-1'])
})

test('a bucket that the list does not show yet is deleted with its object', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  cloud.listDelaySeconds = 600
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  await untilReady(cluster, 'photos')
  await cluster.delete(Bucket, 'photos')
  await cluster.untilGone(Bucket, 'photos')
  assert.equal(cloud.buckets.size, 0)
})

test('the id in the status does not give access to the bucket of another object', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  for (const name of ['theirs', 'mine']) {
    await cluster.create(Bucket, { name, spec })
    await untilReady(cluster, name)
  }
  await cluster.client.patch(Bucket, 'mine', { status: { bucketId: 'b-1' } }, { subresource: 'status' })
  await cluster.until(Bucket, 'mine', ({ status }) => status?.bucketId === 'b-2')
  await cluster.client.patch(Bucket, 'mine', { status: { bucketId: 'b-1' } }, { subresource: 'status' })
  await cluster.delete(Bucket, 'mine')
  await cluster.untilGone(Bucket, 'mine')
  assert.deepEqual([...cloud.buckets.keys()], ['b-1'])
})

test('a request that is not answered is aborted, and tried again', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster, { timeoutMs: 50 })
  await using _cloud = cloud
  cloud.addFault({ type: 'hang', method: 'POST' })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  const { status } = await untilReason(cluster, 'photos', 'CloudUnavailable')
  assert.equal(status?.conditions?.[0]?.message, 'POST /v1/buckets: no answer within 50 ms')
  await untilReady(cluster, 'photos')
})

test('errors of the cloud are retried', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  cloud.addFault({ status: 500, times: 4 })
  await using _operator = await kopf.start(cluster)
  const startMs = cluster.clock.now()
  await cluster.create(Bucket, { name: 'photos', spec })
  await untilReady(cluster, 'photos')
  assert.ok(cluster.clock.now() - startMs >= 15_000, 'pauses of 1, 2, 4 and 8 seconds')
})

test('after 429, no object calls the cloud before the time of Retry-After', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'one', spec })
  await untilReady(cluster, 'one')
  await cluster.settled()
  cloud.addFault({ status: 429, retryAfterSeconds: 300 })
  await cluster.create(Bucket, { name: 'two', spec })
  const { status } = await untilReason(cluster, 'two', 'RateLimited')
  assert.equal(status?.conditions?.[0]?.message, 'GET /v1/buckets: 429 too many requests')
  const requests = cloud.requests.length
  // Resyncs of the first object are due in this time.
  await cluster.clock.advance('290s')
  assert.equal(cloud.requests.length, requests)
  await untilReady(cluster, 'two')
})

test('many objects become ready in spite of a low rate limit', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster, { rateLimit: { requests: 10, windowSeconds: 30 } })
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  const names = Array.from({ length: 8 }, (_, index) => `bucket-${index}`)
  for (const name of names) await cluster.create(Bucket, { name, spec })
  for (const name of names) await untilReady(cluster, name)
  assert.equal(cloud.buckets.size, names.length)
  assert.ok(cloud.requests.some((request) => request.endsWith(' 429')))
})

test('drift is corrected by the resync, as often as it happens', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  await untilReady(cluster, 'photos')
  for (const quotaGb of [1, 2]) {
    const bucket = cloud.buckets.get('b-1')
    assert.ok(bucket)
    cloud.buckets.set('b-1', { ...bucket, quotaGb })
    await cluster.until(() => cloud.buckets.get('b-1')?.quotaGb === 50, { timeout: '2m' })
  }
  // The first one is for the settings of the new bucket.
  assert.equal(cloud.count('PATCH'), 3)
})

test('a bucket that was deleted at the cloud is created again, with an event', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  const object = await untilReady(cluster, 'photos')
  cloud.buckets.clear()
  await cluster.until(Bucket, 'photos', ({ status }) => status?.bucketId === 'b-2')
  assert.deepEqual([...cloud.buckets.keys()], ['b-2'])
  await cluster.settled()
  const events = await cluster.events(object)
  assert.ok(events.some(({ reason }) => reason === 'BucketLost'))
})

test('a request that the cloud refuses is a condition, and is not repeated before the object changes', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec: { ...spec, quotaGb: 5000 } })
  const { status } = await untilReason(cluster, 'photos', 'Rejected')
  assert.equal(status?.conditions?.[0]?.message, 'PATCH /v1/buckets/b-1: 422 quotaGb must be at most 1000')
  await cluster.clock.advance('1h')
  assert.deepEqual([cloud.count('POST'), cloud.count('PATCH')], [1, 1])
  await cluster.patch(Bucket, 'photos', { spec: { quotaGb: 500 } })
  await untilReady(cluster, 'photos')
})

test('a deleted object deletes its bucket before it is gone, and other buckets stay', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  for (const name of ['photos', 'backups']) {
    await cluster.create(Bucket, { name, spec })
    await untilReady(cluster, name)
  }
  cloud.addFault({ method: 'DELETE', status: 503, retryAfterSeconds: 30 })
  await cluster.delete(Bucket, 'photos')
  await untilReason(cluster, 'photos', 'CloudUnavailable')
  await cluster.untilGone(Bucket, 'photos')
  assert.deepEqual(
    [...cloud.buckets.values()].map(({ name }) => name),
    ['backups'],
  )
})

test('an object stays while the cloud refuses the deletion of its bucket, and is gone when the cloud allows it', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  await untilReady(cluster, 'photos')
  cloud.addFault({ method: 'DELETE', status: 422, times: 3 })
  await cluster.delete(Bucket, 'photos')
  const { status } = await untilReason(cluster, 'photos', 'Rejected')
  assert.equal(status?.conditions?.[0]?.message, 'DELETE /v1/buckets/b-1: 422 this fault was ordered')
  await cluster.untilGone(Bucket, 'photos')
  assert.deepEqual([cloud.buckets.size, cloud.count('DELETE')], [0, 4])
})

test('an object whose bucket is gone already can be deleted', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  await untilReady(cluster, 'photos')
  // The list still shows the bucket, and the deletion is answered with 404.
  cloud.addFault({ method: 'DELETE', status: 404 })
  await cluster.delete(Bucket, 'photos')
  await cluster.untilGone(Bucket, 'photos')
  assert.equal(cloud.count('DELETE'), 1)
})

test('a token that is not valid is reported, and is not in the log', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud } = await setUp(cluster)
  await using _cloud = cloud
  const kopf = createOperator(() => new CloudClient({ url: cloud.url, token: 'wrong-token' }))
  await using _operator = await kopf.start(cluster)
  await cluster.create(Bucket, { name: 'photos', spec })
  const { status } = await untilReason(cluster, 'photos', 'Unauthorized')
  assert.equal(status?.conditions?.[0]?.message, 'GET /v1/buckets: 401 the token is not valid')
  assert.ok(!cluster.logs.some((line) => line.includes('wrong-token')))
})

test('a token that a header cannot have stops the operator at its start, and is not in the error', () => {
  const url = 'http://127.0.0.1:1'
  assert.throws(
    () => createClientFromEnvironment({ CLOUD_URL: url, CLOUD_TOKEN: 'first-line\nsecond-line' }),
    (error) =>
      error instanceof Error && /has spaces, line breaks/.test(error.message) && !/-line\b/.test(error.message),
  )
  assert.ok(createClientFromEnvironment({ CLOUD_URL: url, CLOUD_TOKEN: 'token\n' }))
  assert.throws(() => createClientFromEnvironment({ CLOUD_URL: 'cloud', CLOUD_TOKEN: token }), /not a URL: "cloud"/)
})

test('a Retry-After of 0 is a pause of a second, and a very long one is cut to an hour', async () => {
  await using cloud = await CloudServer.start({ token })
  const client = new CloudClient({ url: cloud.url, token })
  const { signal } = new AbortController()
  for (const [retryAfterSeconds, expected] of [
    [0, 1],
    [4_000_000_000, 3600],
  ] as const) {
    cloud.addFault({ status: 503, retryAfterSeconds })
    await assert.rejects(client.listBuckets('any', signal), { retryAfterSeconds: expected })
  }
})

test('a name that is too long for the ConfigMap is refused by the API server', async () => {
  await using cluster = await startCluster({ resources: [Bucket] })
  const { cloud, kopf } = await setUp(cluster)
  await using _cloud = cloud
  await using _operator = await kopf.start(cluster)
  await assert.rejects(cluster.create(Bucket, { name: 'b'.repeat(247), spec }), /at most 246 characters/)
  const name = 'b'.repeat(246)
  await cluster.create(Bucket, { name, spec })
  await cluster.until('configmaps', `${name}-bucket`, () => true)
})

test('without the environment variables the operator does not start', () => {
  assert.throws(() => createClientFromEnvironment({}), /set the environment variables CLOUD_URL and CLOUD_TOKEN/)
})
