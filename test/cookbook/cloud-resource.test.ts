/** The README of cookbook/cloud-resource on both clusters: creation, change, refusal, a lost answer, and deletion. */
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { Bucket } from '../../cookbook/cloud-resource/bucket.ts'
import { CloudClient } from '../../cookbook/cloud-resource/cloud-client.ts'
import { CloudServer } from '../../cookbook/cloud-resource/cloud-server.ts'
import { createOperator } from '../../cookbook/cloud-resource/operator.ts'
import { realOrNot } from '../testing/real-or-embedded.ts'

const token = 'test-token'
const spec = { region: 'eu-1', versioning: true, quotaGb: 50 }

/** Matches an object whose condition Ready has this reason. */
const withReason =
  (reason: string) =>
  ({ status }: { status?: { conditions?: ReadonlyArray<{ readonly reason: string }> } }) =>
    status?.conditions?.some((condition) => condition.reason === reason)

test('a Bucket object has one bucket at the cloud, from its creation to its deletion', async () => {
  await using cluster = await startCluster({ resources: [Bucket], real: realOrNot() })
  await using cloud = await CloudServer.start({ token })
  const kopf = createOperator(() => new CloudClient({ url: cloud.url, token }))
  await using _operator = await kopf.start(cluster)

  cloud.addFault({ type: 'lost', method: 'POST' })
  await cluster.create(Bucket, { name: 'photos', spec })
  const { metadata, status } = await cluster.until(Bucket, 'photos', withReason('InSync'))
  expect(status?.bucketId).toBe('b-1')
  expect([...cloud.buckets.values()]).toMatchObject([{ id: 'b-1', owner: metadata.uid, ...spec }])
  const { data } = await cluster.until('configmaps', 'photos-bucket', ({ data }) => data !== undefined)
  expect(data).toEqual({ BUCKET_ID: 'b-1', BUCKET_URL: 'https://b-1.eu-1.cloud.example.com' })

  cloud.addFault({ status: 429, retryAfterSeconds: 1 })
  await cluster.patch(Bucket, 'photos', { spec: { quotaGb: 60 } })
  await cluster.until(Bucket, 'photos', withReason('RateLimited'))
  await cluster.until(() => cloud.buckets.get('b-1')?.quotaGb === 60)
  await expect(cluster.patch(Bucket, 'photos', { spec: { region: 'us-1' } })).rejects.toThrow(
    'the region cannot be changed',
  )

  await cluster.create(Bucket, { name: 'backups', spec: { ...spec, region: 'mars-1' } })
  await cluster.until(Bucket, 'backups', withReason('Rejected'))

  for (const name of ['photos', 'backups']) {
    await cluster.delete(Bucket, name)
    await cluster.untilGone(Bucket, name)
  }
  expect(cloud.buckets.size).toBe(0)
})
