/** Keeps one bucket at the cloud provider for each Bucket object in the cluster. */
import { buildObject, type Conditions, Operator, PermanentError, TemporaryError } from 'kopf'
import { ConfigMap } from 'kopf/kubernetes'
import { Bucket } from './bucket.ts'
import {
  type BucketSettings,
  type CloudBucket,
  type CloudClient,
  CloudError,
  createClientFromEnvironment,
} from './cloud-client.ts'

/** Tests pass a client that calls a server of the test. */
export function createOperator(createClient: () => CloudClient): Operator {
  const kopf = new Operator({ name: 'buckets' })
  let cloud: CloudClient

  // Not at the top level: `kopf crd` and `kopf manifests` load this file where there is no token.
  kopf.on.startup({ id: 'connect', errors: 'permanent' }, () => {
    cloud = createClient()
  })

  // `resync` finds drift: changes at the cloud send no events to the cluster. `cleanup` keeps the object until the bucket is deleted.
  kopf.reconcile(Bucket, { id: 'bucket', owns: [ConfigMap], resync: '1m', cleanup: true }, async (args) => {
    const { name, uid, meta, spec, status, patch, conditions, signal, step, deleting, logger, recorder, retry } = args
    try {
      if (deleting) {
        await step('delete', () => deleteBuckets(cloud, uid, signal))
        return undefined
      }
      const settings = { versioning: spec.versioning, quotaGb: spec.quotaGb }
      // The cloud knows the owner of each bucket. The status can be lost or edited, so that it is never the proof of ownership.
      const [found] = await cloud.listBuckets(uid, signal)
      const key = idempotencyKeyOf(uid, meta.generation ?? 0, status.bucketId)
      let bucket =
        found ?? (await cloud.createBucket({ owner: uid, name, region: spec.region, ...settings }, key, signal))
      if (found === undefined && status.bucketId !== undefined && status.bucketId !== bucket.id)
        recorder.warn('BucketLost', `The bucket ${status.bucketId} is gone: created ${bucket.id}, which is empty`)
      const drift = driftOf(bucket, settings)
      if (drift.length > 0) {
        logger.info(`Bucket ${bucket.id} differs from the spec: ${drift.join(', ')}`)
        bucket = await cloud.updateBucket(bucket.id, settings, signal)
      }
      patch.status.bucketId = bucket.id
      patch.status.url = bucket.url
      conditions.set({ type: 'Ready', status: true, reason: 'InSync', message: 'The bucket is as specified' })
      const data = { BUCKET_ID: bucket.id, BUCKET_URL: bucket.url }
      return { children: [buildObject(ConfigMap, { metadata: { name: `${name}-bucket` }, data })] }
    } catch (error) {
      throw error instanceof CloudError ? reportCloudError(error, conditions, retry) : error
    }
  })
  return kopf
}

/**
 * The same for all attempts at one generation of one object: a bucket that was created by an attempt that crashed is found again. The id of a
 * lost bucket is part of the key, because the cloud would answer to the old key with the bucket that is gone.
 */
function idempotencyKeyOf(uid: string, generation: number, lostId: string | undefined): string {
  return [uid, generation, ...(lostId === undefined ? [] : [lostId])].join('/')
}

function driftOf(bucket: CloudBucket, settings: BucketSettings): string[] {
  const drift: string[] = []
  if (bucket.versioning !== settings.versioning) drift.push(`versioning is ${bucket.versioning}`)
  if (bucket.quotaGb !== settings.quotaGb) drift.push(`quotaGb is ${bucket.quotaGb}`)
  return drift
}

/** By owner and not by the id in the status: an attempt may have created a bucket and crashed before it wrote the status. */
async function deleteBuckets(cloud: CloudClient, owner: string, signal: AbortSignal): Promise<void> {
  for (const { id } of await cloud.listBuckets(owner, signal)) await cloud.deleteBucket(id, signal)
}

/** Sets the condition that users see, and decides whether and when the reconciler is called again. */
function reportCloudError(error: CloudError, conditions: Conditions, retry: number): Error {
  const { status, message, retryAfterSeconds } = error
  const set = (reason: string) => conditions.set({ type: 'Ready', status: false, reason, message })
  if (status === 400 || status === 422) {
    set('Rejected')
    return new PermanentError(message, { cause: error })
  }
  // The token belongs to the operator: the author of the object cannot do anything about it.
  if (status === 401 || status === 403) set('Unauthorized')
  else if (status === 429) set('RateLimited')
  else set('CloudUnavailable')
  return new TemporaryError(message, { delay: retryAfterSeconds ?? Math.min(2 ** retry, 300), cause: error })
}

export default createOperator(createClientFromEnvironment)
