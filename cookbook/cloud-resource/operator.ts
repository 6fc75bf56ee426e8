/** Keeps one bucket at the cloud provider for each Bucket object in the cluster. */
import { type Args, buildObject, Operator, PermanentError, TemporaryError } from 'kopf'
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
    const { name, conditions, step, deleting } = args
    try {
      if (deleting) {
        await step('delete', () => deleteBuckets(cloud, args))
        return undefined
      }
      const { id, url } = await ensureBucket(cloud, args)
      conditions.set({ type: 'Ready', status: true, reason: 'InSync', message: 'The bucket is as specified' })
      const data = { BUCKET_ID: id, BUCKET_URL: url }
      return { children: [buildObject(ConfigMap, { metadata: { name: `${name}-bucket` }, data })] }
    } catch (error) {
      throw error instanceof CloudError ? reportCloudError(error, args) : error
    }
  })
  return kopf
}

type BucketArgs = Omit<Args<'reconcile', typeof Bucket>, 'children'>

/** Finds the bucket of the object, or creates it, and corrects its settings. */
async function ensureBucket(cloud: CloudClient, args: BucketArgs): Promise<CloudBucket> {
  const { name, uid, spec, status, patch, signal, logger, recorder } = args
  const [found] = await findBuckets(cloud, args)
  const key = idempotencyKeyOf(uid, status.bucketId)
  const bucket = found ?? (await cloud.createBucket({ owner: uid, name, region: spec.region }, key, signal))
  // Written also if the next request fails: see idempotencyKeyOf.
  patch.status.bucketId = bucket.id
  patch.status.url = bucket.url
  if (found === undefined && status.bucketId !== undefined)
    recorder.warn('BucketLost', `The bucket ${status.bucketId} is gone: created ${bucket.id}, which is empty`)
  const settings = { versioning: spec.versioning, quotaGb: spec.quotaGb }
  const drift = driftOf(bucket, settings)
  if (drift.length === 0) return bucket
  // A new bucket has the settings of the cloud at first.
  if (found !== undefined) logger.info(`Bucket ${bucket.id} differs from the spec: ${drift.join(', ')}`)
  return await cloud.updateBucket(bucket.id, settings, signal)
}

/**
 * The buckets whose owner is the object. The list of a cloud can be late, and so the bucket in the status is also read by its id. The status can be
 * lost or edited: it never proves that a bucket belongs to the object.
 */
async function findBuckets(
  cloud: CloudClient,
  { uid, status: { bucketId }, signal }: Pick<BucketArgs, 'uid' | 'status' | 'signal'>,
): Promise<CloudBucket[]> {
  const listed = await cloud.listBuckets(uid, signal)
  if (bucketId === undefined || listed.some(({ id }) => id === bucketId)) return listed
  const known = await cloud.getBucket(bucketId, signal)
  return known?.owner === uid ? [known, ...listed] : listed
}

/**
 * The same for all attempts to create the bucket of an object: a bucket that was created by an attempt that crashed is found again. The id of a
 * lost bucket is part of the key, because the cloud would answer to the old key with the bucket that is gone.
 */
function idempotencyKeyOf(uid: string, lostId: string | undefined): string {
  return lostId === undefined ? uid : `${uid}/${lostId}`
}

function driftOf(bucket: CloudBucket, settings: BucketSettings): string[] {
  const drift: string[] = []
  if (bucket.versioning !== settings.versioning) drift.push(`versioning is ${bucket.versioning}`)
  if (bucket.quotaGb !== settings.quotaGb) drift.push(`quotaGb is ${bucket.quotaGb}`)
  return drift
}

/** All of them: also one that an attempt has created before it crashed. */
async function deleteBuckets(cloud: CloudClient, args: BucketArgs): Promise<void> {
  for (const { id } of await findBuckets(cloud, args)) await cloud.deleteBucket(id, args.signal)
}

/** Sets the condition that users see, and decides whether and when the reconciler is called again. */
function reportCloudError(error: CloudError, { conditions, retry, deleting }: BucketArgs): Error {
  const { status, message, retryAfterSeconds } = error
  conditions.set({ type: 'Ready', status: false, reason: reasonOf(status), message })
  // An object that is being deleted does not change any more: only the cloud can.
  if (reasonOf(status) === 'Rejected' && !deleting) return new PermanentError(message, { cause: error })
  return new TemporaryError(message, { delay: retryAfterSeconds ?? Math.min(2 ** retry, 300), cause: error })
}

function reasonOf(status: number): string {
  if (status === 400 || status === 422) return 'Rejected'
  // The token belongs to the operator: the author of the object cannot do anything about it.
  if (status === 401 || status === 403) return 'Unauthorized'
  return status === 429 ? 'RateLimited' : 'CloudUnavailable'
}

export default createOperator(createClientFromEnvironment)
