/**
 * Rewrites all objects of a resource without a change, so that the API server stores them in the storage version. Pages and rate are limited. Called by
 * migrate.ts where the cluster has no StorageVersionMigration.
 */
import { isConflict, isForbidden, isGone, isNotFound } from '../../../client/api-error.ts'
import { collectionPath, type Located, objectPath } from '../../../client/paths.ts'
import type { Session } from '../../../client/session.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { monotonicNow, systemClock, trySleep } from '../../../util/async/clock.ts'

export interface RewriteOptions {
  /** Writes per second. */
  readonly rate: number
  /** No write starts after it is aborted. Writes that have started are finished. */
  readonly signal: AbortSignal
  readonly onProgress: (counts: RewriteCounts) => void
  readonly onFailure: (name: string, error: unknown) => void
}

export interface RewriteCounts {
  /** As far as the API server says how many objects it has. */
  total: number
  rewritten: number
  /** Objects that were stored in the storage version before: the API server writes nothing then. */
  unchanged: number
  /** Objects that another client has changed or deleted since they were listed: their last write was in the storage version. */
  skipped: number
  failed: number
}

const pageSize = 500

/** The number of parallel requests, so that slow responses do not limit the rate. */
const concurrency = 4

/** Requests only the metadata of objects: the name, the uid and the resource version are enough. */
const metadataOnly = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`

/** Rejects if objects cannot be listed, or if the user may not write them. Other failures are counted. */
export async function rewriteObjects(
  session: Session,
  resource: Located,
  options: RewriteOptions,
): Promise<RewriteCounts> {
  const counts: RewriteCounts = { total: 0, rewritten: 0, unchanged: 0, skipped: 0, failed: 0 }
  const pace = new Pace(options.rate)
  for await (const page of listPages(session, resource)) {
    counts.total = Math.max(counts.total, countDone(counts) + page.objects.length + page.remaining)
    await rewritePage(session, resource, page.objects, { ...options, counts, pace })
    if (options.signal.aborted) break
  }
  return counts
}

export function countDone({ rewritten, unchanged, skipped, failed }: RewriteCounts): number {
  return rewritten + unchanged + skipped + failed
}

interface MetadataPage {
  readonly objects: readonly KubeObject[]
  readonly remaining: number
}

/**
 * Lists the metadata of all objects, sorted by namespace and name. A continue token expires after some minutes; the list then starts again, without the
 * objects that were listed before. Objects that are created in between are stored in the storage version anyway.
 */
export async function* listPages(session: Session, resource: Located): AsyncGenerator<MetadataPage> {
  const path = collectionPath(resource)
  const accept = metadataOnly('PartialObjectMetadataList')
  let token: string | undefined
  let last: string | undefined
  for (;;) {
    try {
      const response = await session.request({
        method: 'GET',
        path,
        query: { limit: pageSize, continue: token },
        accept,
      })
      const { items = [], metadata = {} } = response as { items?: KubeObject[]; metadata?: ListMetadata }
      const after = last
      const objects = after === undefined ? items : items.filter((object) => keyOf(object) > after)
      last = items.length === 0 ? last : keyOf(items.at(-1)!)
      yield { objects, remaining: metadata.remainingItemCount ?? 0 }
      token = metadata.continue || undefined
      if (token === undefined) return
    } catch (error) {
      if (!isGone(error) || token === undefined) throw error
      token = undefined
    }
  }
}

interface ListMetadata {
  readonly continue?: string
  readonly remainingItemCount?: number
}

function keyOf({ metadata: { namespace, name } }: KubeObject): string {
  return namespace === undefined ? name! : `${namespace}/${name}`
}

interface PageOptions extends RewriteOptions {
  readonly counts: RewriteCounts
  readonly pace: Pace
}

async function rewritePage(
  session: Session,
  resource: Located,
  objects: readonly KubeObject[],
  { counts, pace, signal, onProgress, onFailure }: PageOptions,
): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < objects.length && (await pace.wait(signal))) {
      const object = objects[next++]
      if (object === undefined) return
      try {
        counts[await rewriteOne(session, resource, object)] += 1
      } catch (error) {
        if (isForbidden(error)) throw error
        counts.failed += 1
        onFailure(keyOf(object), error)
      }
      onProgress(counts)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

/** The patch changes nothing. Its uid and resource version make it fail with a conflict if the object was changed or created again. */
async function rewriteOne(
  session: Session,
  resource: Located,
  { metadata }: KubeObject,
): Promise<'rewritten' | 'unchanged' | 'skipped'> {
  const { name, namespace, uid, resourceVersion } = metadata
  try {
    const written = await session.request({
      method: 'PATCH',
      path: objectPath(resource, { name: name!, namespace }),
      contentType: 'application/merge-patch+json',
      accept: metadataOnly('PartialObjectMetadata'),
      body: { metadata: { uid, resourceVersion } },
    })
    const isSame = (written as unknown as KubeObject).metadata.resourceVersion === resourceVersion
    return isSame ? 'unchanged' : 'rewritten'
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return 'skipped'
    throw error
  }
}

/** Distributes writes evenly over time. */
class Pace {
  readonly #intervalMs: number
  #nextMs = 0

  constructor(rate: number) {
    this.#intervalMs = 1000 / rate
  }

  /** Resolves when the next write may start; false if the signal was aborted. */
  async wait(signal: AbortSignal): Promise<boolean> {
    const nowMs = monotonicNow(systemClock)
    const startMs = Math.max(nowMs, this.#nextMs)
    this.#nextMs = startMs + this.#intervalMs
    return await trySleep(systemClock, startMs - nowMs, signal)
  }
}
