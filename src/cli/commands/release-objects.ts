/** Finds objects with a finalizer and removes it, guarded by the resource version and retried after a conflict. */
import { isConflict, isNotFound, isUnprocessable } from '../../client/api-error.ts'
import { collectionPath, objectPath } from '../../client/paths.ts'
import type { Session } from '../../client/session.ts'
import { hasFinalizer, isDeletionOngoing, removeFinalizer } from '../../kube/finalizers.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { toJsonPatch } from '../../util/json/json-patch.ts'

export interface HeldByFinalizer {
  readonly name: string
  readonly namespace: string | undefined
  readonly isDeleting: boolean
  /** The metadata of the object when it was last read. */
  readonly body: KubeObject
}

export interface HeldQuery {
  readonly finalizer: string
  readonly resource: Resource
  /** Undefined: all objects. */
  readonly name?: string | undefined
  /** Undefined: the whole cluster. */
  readonly namespace?: string | undefined
}

export interface Released {
  released: number
  /** Objects that were deleted, or released by another client, in the meantime. */
  gone: number
  failed: number
}

/** Requests only the metadata of objects: names and finalizers are enough. */
const metadataOf = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`
const pageSize = 500

/** The number of parallel requests: fast, but no noticeable load. */
const concurrency = 4

/** After each conflict the object is read again. More conflicts than this mean that an operator is still writing to it. */
const maxAttempts = 5

export async function findHeld(session: Session, query: HeldQuery): Promise<HeldByFinalizer[]> {
  const { resource, name, namespace, finalizer } = query
  if (name !== undefined) {
    const one = toHeld(await readOne(session, query, { name, namespace }))
    return hasFinalizer(one.body, finalizer) ? [one] : []
  }
  const held: HeldByFinalizer[] = []
  let token: string | undefined
  do {
    const page = await session.request({
      method: 'GET',
      path: collectionPath(resource, namespace),
      query: { limit: pageSize, continue: token },
      accept: metadataOf('PartialObjectMetadataList'),
    })
    const { items = [], metadata = {} } = page as { items?: KubeObject[]; metadata?: { continue?: string } }
    held.push(...items.filter((body) => hasFinalizer(body, finalizer)).map(toHeld))
    token = metadata.continue || undefined
  } while (token !== undefined)
  return held
}

/** Releases all objects. Calls `onFailure` for an object that cannot be released, and continues. */
export async function releaseAll(
  session: Session,
  held: readonly HeldByFinalizer[],
  query: HeldQuery,
  onFailure: (one: HeldByFinalizer, error: unknown) => void,
): Promise<Released> {
  const counts: Released = { released: 0, gone: 0, failed: 0 }
  const remaining = [...held]
  const work = async (): Promise<void> => {
    for (let one = remaining.shift(); one !== undefined; one = remaining.shift()) {
      try {
        counts[await releaseOne(session, one, query)] += 1
      } catch (error) {
        counts.failed += 1
        onFailure(one, error)
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return counts
}

async function releaseOne(session: Session, held: HeldByFinalizer, query: HeldQuery): Promise<'released' | 'gone'> {
  let { body } = held
  for (let attempt = 1; ; attempt += 1) {
    if (!hasFinalizer(body, query.finalizer)) return 'gone'
    try {
      await session.request({
        method: 'PATCH',
        path: objectPath(query.resource, held),
        body: toReleasePatch(body, query.finalizer),
        contentType: 'application/json-patch+json',
        accept: metadataOf('PartialObjectMetadata'),
      })
      return 'released'
    } catch (error) {
      if (isNotFound(error)) return 'gone'
      if (attempt >= maxAttempts || !(isConflict(error) || isUnprocessable(error))) throw error
      const current = await readIfExists(session, held, query)
      if (current === undefined || current.metadata.uid !== body.metadata.uid) return 'gone'
      // The object has not changed, so the API server rejects the change itself.
      if (current.metadata.resourceVersion === body.metadata.resourceVersion) throw error
      body = current
    }
  }
}

/** Removes only this finalizer, and only if the object still has the version that was read. */
function toReleasePatch(body: KubeObject, finalizer: string): object[] {
  const { uid = null, resourceVersion = null } = body.metadata
  const released = structuredClone(body)
  removeFinalizer(released, finalizer)
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    ...toJsonPatch(body as unknown as JsonObject, released as unknown as JsonObject),
  ]
}

async function readIfExists(
  session: Session,
  held: HeldByFinalizer,
  query: HeldQuery,
): Promise<KubeObject | undefined> {
  try {
    return await readOne(session, query, held)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

async function readOne(
  session: Session,
  { resource }: HeldQuery,
  key: { readonly name: string; readonly namespace: string | undefined },
): Promise<KubeObject> {
  const path = objectPath(resource, key)
  const body = await session.request({ method: 'GET', path, accept: metadataOf('PartialObjectMetadata') })
  return body as unknown as KubeObject
}

function toHeld(body: KubeObject): HeldByFinalizer {
  const { name, namespace } = body.metadata
  return { name: name ?? '', namespace, isDeleting: isDeletionOngoing(body), body }
}
