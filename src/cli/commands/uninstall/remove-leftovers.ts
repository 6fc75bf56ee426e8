/** Removes what find-leftovers.ts has found, in its order. A failure is printed and does not stop the removal of the rest, except that of CRDs. Called by uninstall.ts. */
import { isConflict, isNotFound } from '../../../client/api-error.ts'
import { collectionPath, objectPath } from '../../../client/paths.ts'
import type { Session } from '../../../client/session.ts'
import { KopfError } from '../../../errors.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { toRemovalPatch } from '../../../kube/peerings.ts'
import { crdsResource } from '../../../kube/resources/well-known.ts'
import { monotonicNow, systemClock } from '../../../util/async/clock.ts'
import { getObjects } from '../../../util/json/json.ts'
import { describeError } from '../../../util/log/describe-error.ts'
import { toCommandError } from '../../cluster.ts'
import { releaseAll } from '../release-objects.ts'
import { countObjects, describeObject, type FoundLeftovers, keyOfObject, type Leftover } from './leftovers.ts'

export interface RemovalReport {
  readonly onDone: (text: string) => void
  readonly onFailure: (text: string) => void
}

/** The time for the API server to delete the objects of a CRD. */
const maxDeletionMs = 30_000
const pollMs = 250

/** The number of objects that are named if they keep a CRD from being deleted. */
const maxNamed = 5

/** Resolves to the number of failures, including the problems of the search. */
export async function removeLeftovers(
  session: Session,
  { leftovers, problems, finalizer }: Pick<FoundLeftovers, 'leftovers' | 'problems'> & { readonly finalizer: string },
  report: RemovalReport,
): Promise<number> {
  let failures = problems.length
  const fail = (text: string) => {
    failures += 1
    report.onFailure(text)
  }
  for (const leftover of leftovers) {
    if (leftover.type === 'crd' && failures > 0) {
      fail(`${describe(leftover)} stays, since not everything else could be removed`)
      continue
    }
    try {
      report.onDone(await remove(session, leftover, { finalizer, fail }))
    } catch (error) {
      fail(describeError(toError(error, leftover)))
    }
  }
  return failures
}

function toError(error: unknown, leftover: Leftover): unknown {
  if (leftover.type === 'finalizer') return error
  const { name, namespace } = leftover.object.metadata
  const [verb, resource] = leftover.type === 'crd' ? ['delete', crdsResource] : [verbOf(leftover), leftover.resource]
  return toCommandError(error, { verb, resource, name, namespace, verbs: [verb] })
}

function verbOf({ type }: Leftover): string {
  return type === 'records' ? 'patch' : 'delete'
}

function describe(leftover: Exclude<Leftover, { type: 'finalizer' }>): string {
  return describeObject(leftover.type === 'crd' ? crdsResource : leftover.resource, leftover.object)
}

interface RemovalOptions {
  readonly finalizer: string
  readonly fail: (text: string) => void
}

/** Resolves to the text for the user. */
async function remove(session: Session, leftover: Leftover, { finalizer, fail }: RemovalOptions): Promise<string> {
  if (leftover.type === 'finalizer') return await removeFinalizers(session, leftover, { finalizer, fail })
  const { object } = leftover
  if (leftover.type === 'records') {
    const { resource, identities } = leftover
    const body = toRemovalPatch(identities)
    const path = objectPath(resource, keyOfObject(object))
    await session.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
    return `Removed ${identities.length} expired ${identities.length === 1 ? 'record' : 'records'} from ${describe(leftover)}.`
  }
  if (leftover.type === 'crd') return await removeCrd(session, leftover)
  const path = objectPath(leftover.resource, keyOfObject(object))
  const isDeleted = await deleteObject(session, path, object, leftover.isGuarded)
  return isDeleted ? `Deleted ${describe(leftover)}.` : `${describe(leftover)} was deleted meanwhile.`
}

async function removeFinalizers(
  session: Session,
  { resource, held }: Extract<Leftover, { type: 'finalizer' }>,
  { finalizer, fail }: RemovalOptions,
): Promise<string> {
  const { released, gone } = await releaseAll(session, held, { finalizer, resource }, ({ name, namespace }, error) => {
    const action = { verb: 'release', resource, name, namespace, verbs: ['list', 'patch'] }
    fail(describeError(toCommandError(error, action)))
  })
  const meanwhile = gone === 0 ? '' : `; ${countObjects(gone)} were deleted or released in the meantime`
  return `Removed the finalizer from ${countObjects(released)} of ${nameOf(resource)}${meanwhile}.`
}

/** Resolves to false if the object does not exist any more. Throws if another object has its name. */
async function deleteObject(session: Session, path: string, object: KubeObject, isGuarded = false): Promise<boolean> {
  const { uid, resourceVersion } = object.metadata
  const preconditions = { uid, ...(isGuarded && { resourceVersion }) }
  try {
    await session.request({ method: 'DELETE', path, body: { preconditions } })
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    if (!isConflict(error)) throw error
    const why = isGuarded ? 'it was renewed meanwhile, so the operator runs' : 'it was replaced meanwhile'
    throw new KopfError('KOPF_UNINSTALL', `Cannot delete ${path}: ${why}`, { cause: error })
  }
}

/** Waits until the CRD is deleted with its objects. Throws if finalizers of other clients hold some of them. */
async function removeCrd(session: Session, leftover: Extract<Leftover, { type: 'crd' }>): Promise<string> {
  const { object, objects } = leftover
  const path = objectPath(crdsResource, keyOfObject(object))
  await removeConversion(session, path, object)
  if (!(await deleteObject(session, path, object))) return `${describe(leftover)} was deleted meanwhile.`
  const endMs = monotonicNow(systemClock) + maxDeletionMs
  while (await exists(session, path)) {
    if (monotonicNow(systemClock) > endMs) await throwHeld(session, leftover)
    await systemClock.sleep(pollMs)
  }
  return `Deleted ${describe(leftover)} with ${countObjects(objects)}.`
}

/** The API server reads all objects before it deletes them, which fails if the conversion webhook of the operator does not respond. */
async function removeConversion(session: Session, path: string, { metadata, spec }: KubeObject): Promise<void> {
  const { conversion } = (spec ?? {}) as { readonly conversion?: { readonly strategy?: string } }
  if (conversion?.strategy !== 'Webhook') return
  const body = { metadata: { uid: metadata.uid }, spec: { conversion: { strategy: 'None', webhook: null } } }
  await session.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
}

async function exists(session: Session, path: string): Promise<boolean> {
  try {
    await session.request({ method: 'GET', path })
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

async function throwHeld(session: Session, leftover: Extract<Leftover, { type: 'crd' }>): Promise<never> {
  const call = { method: 'GET', path: collectionPath(leftover.resource), query: { limit: maxNamed } } as const
  const list = await session.request(call).catch(() => ({}))
  const held = (getObjects(list, 'items') as unknown as KubeObject[]).map(({ metadata }) => {
    const { name, namespace, finalizers = [] } = metadata
    return `${namespace === undefined ? name : `${namespace}/${name}`} (${finalizers.join(', ')})`
  })
  throw new KopfError(
    'KOPF_UNINSTALL',
    `Cannot delete ${describe(leftover)} yet: its objects wait for the finalizers of other clients: ${held.join(', ')}; it is deleted when these are removed`,
  )
}

function nameOf({ group, plural }: { readonly group: string; readonly plural: string }): string {
  return group === '' ? plural : `${plural}.${group}`
}
