/** Which objects have a finalizer, and taking it off: guarded by the version, tried again where somebody was faster. */
import { isConflict, isNotFound, isUnprocessable } from '../client/api-error.ts'
import type { Session } from '../client/calls.ts'
import { collectionPath, objectPath } from '../client/requests.ts'
import { allowDeletion, isDeletionBlocked, isDeletionOngoing } from '../kube/finalizers.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import { toJsonPatch } from '../util/json-diff.ts'

export interface Held {
  readonly name: string
  readonly namespace: string | undefined
  readonly isDeleting: boolean
  /** The metadata, as it was last seen. */
  readonly body: KubeObject
}

export interface HeldQuery {
  readonly finalizer: string
  readonly resource: Resource
  /** Undefined for all. */
  readonly name?: string | undefined
  /** Undefined for the whole cluster. */
  readonly namespace?: string | undefined
}

export interface Released {
  released: number
  /** Somebody else was faster. */
  gone: number
  failed: number
}

/** The names and finalizers are enough: what the objects are about is not read. */
const metadataOf = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`
const pageSize = 500

/** At the same time: enough to be fast, too few to be felt. */
const hands = 4

/** With each attempt the object is read anew; whoever changes it that often is an operator at work. */
const mostAttempts = 5

export async function findHeld(session: Session, query: HeldQuery): Promise<Held[]> {
  const { resource, name, namespace, finalizer } = query
  if (name !== undefined) {
    const one = toHeld(await readOne(session, query, { name, namespace }))
    return isDeletionBlocked(one.body, finalizer) ? [one] : []
  }
  const held: Held[] = []
  let token: string | undefined
  do {
    const page = await session.request({
      method: 'GET',
      path: collectionPath(resource, namespace),
      query: { limit: pageSize, continue: token },
      accept: metadataOf('PartialObjectMetadataList'),
    })
    const { items = [], metadata = {} } = page as { items?: KubeObject[]; metadata?: { continue?: string } }
    held.push(...items.filter((body) => isDeletionBlocked(body, finalizer)).map(toHeld))
    token = metadata.continue || undefined
  } while (token !== undefined)
  return held
}

/** Goes on with the others where one cannot be released, and tells of it. */
export async function releaseAll(
  session: Session,
  held: readonly Held[],
  query: HeldQuery,
  onFailure: (one: Held, error: unknown) => void,
): Promise<Released> {
  const counts: Released = { released: 0, gone: 0, failed: 0 }
  const left = [...held]
  const work = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      try {
        counts[await releaseOne(session, one, query)] += 1
      } catch (error) {
        counts.failed += 1
        onFailure(one, error)
      }
    }
  }
  await Promise.all(Array.from({ length: hands }, work))
  return counts
}

async function releaseOne(session: Session, held: Held, query: HeldQuery): Promise<'released' | 'gone'> {
  let { body } = held
  for (let attempt = 1; ; attempt += 1) {
    if (!isDeletionBlocked(body, query.finalizer)) return 'gone'
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
      if (attempt >= mostAttempts || !(isConflict(error) || isUnprocessable(error))) throw error
      const fresh = await readAgain(session, held, query)
      if (fresh === undefined || fresh.metadata.uid !== body.metadata.uid) return 'gone'
      // Nobody was faster: what is refused is the change itself.
      if (fresh.metadata.resourceVersion === body.metadata.resourceVersion) throw error
      body = fresh
    }
  }
}

/** Only the one finalizer goes, and only from the very state that was looked at. */
function toReleasePatch(body: KubeObject, finalizer: string): object[] {
  const { uid = null, resourceVersion = null } = body.metadata
  const released = structuredClone(body)
  allowDeletion(released, finalizer)
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    ...toJsonPatch(body as unknown as JsonObject, released as unknown as JsonObject),
  ]
}

async function readAgain(session: Session, held: Held, query: HeldQuery): Promise<KubeObject | undefined> {
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

function toHeld(body: KubeObject): Held {
  const { name, namespace } = body.metadata
  return { name: name ?? '', namespace, isDeleting: isDeletionOngoing(body), body }
}
