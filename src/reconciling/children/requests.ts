/** The API requests for children: apply, delete, and reading the object that has a child's name. Called by sync.ts, which decides about them. */
import { ApiError, isConflict, isNotFound, isUnprocessable } from '../../client/api-error.ts'
import { collectionPath, objectPath } from '../../client/paths.ts'
import type { Session } from '../../client/session.ts'
import type { JsonObject, KubeObject, ObjectMeta } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { repeatsSecret, secretValuesOf } from '../../steps/secret-values.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { describeError } from '../../util/log/describe-error.ts'
import { metadataForms } from '../../watching/queries.ts'
import { readNormalised } from '../drift/drift.ts'
import type { ChildCache, OwnerKeyOfChild } from '../sources/child-cache.ts'
import { type DesiredChild, withFingerprint } from './desired.ts'

export interface ChildWriter {
  readonly session: Session
  readonly signal: AbortSignal
  readonly fieldManager: string
}

export interface AppliedChild {
  readonly child: KubeObject
  /** Desired fields that the server did not store. */
  readonly dropped: readonly string[]
  /** The owners of the child before and after the apply. */
  readonly affected: readonly OwnerKeyOfChild[]
}

/**
 * The object that an apply may write. The server rejects the apply (409, or 422 for another uid) if the name belongs to another object: a
 * read before the write would be a race.
 */
export type ApplyTarget =
  /** The object must not exist: the apply creates it. */
  | { readonly type: 'new' }
  | { readonly type: 'known'; readonly uid: string }
  /** Any object with the name, or a new one. */
  | { readonly type: 'any' }

/**
 * A resourceVersion that no object has (the highest signed 64-bit integer). An apply ignores the resourceVersion when it creates an object, and is
 * rejected when the existing object has another one: so an apply with this version only creates.
 */
const versionOfNone = '9223372036854775807'

/** The maximum number of fields that a message names. */
const maxCauses = 5
/** Longer messages of the server are cut to this number of characters. */
const maxMessageLength = 4096

/** The content type of server-side apply. Kubernetes has no name for a JSON body; JSON is valid YAML. */
const applyType = 'application/apply-patch+yaml'

/** Applies with force: the reconciler becomes the manager of all desired fields. Fields that it does not return stay with their managers. */
export async function applyChild(
  { session, signal, fieldManager }: ChildWriter,
  { desired, target }: { readonly desired: DesiredChild; readonly target: ApplyTarget },
  { resource, cache }: { readonly resource: Resource; readonly cache: ChildCache },
): Promise<AppliedChild> {
  const body = withTarget(withFingerprint(desired), target)
  const path = objectPath(resource, nameOf(desired))
  const query = { fieldManager, force: true }
  const call = { method: 'PATCH', path, query, body, contentType: applyType, purpose: 'children', resource } as const
  const child = (await session.request(call, signal)) as unknown as KubeObject
  const normalised = readNormalised(desired, child, fieldManager)
  const affected = cache.put(child)
  cache.setNormalised(child, normalised)
  return { child, dropped: [...normalised.dropped], affected }
}

function withTarget(body: JsonObject, target: ApplyTarget): JsonObject {
  if (target.type === 'any') return body
  const precondition = target.type === 'new' ? { resourceVersion: versionOfNone } : { uid: target.uid }
  return { ...body, metadata: { ...(body['metadata'] as JsonObject), ...precondition } }
}

/** Whether the server rejected an apply because the name belongs to an object other than the target, or to no object. */
export function isOtherObject(error: unknown): boolean {
  if (isConflict(error)) return true
  const causes = isUnprocessable(error) ? error.details['causes'] : undefined
  return Array.isArray(causes) && causes.some((cause) => isPlainObject(cause) && cause['field'] === 'metadata.uid')
}

/** Reads the metadata of the object that has the name of a child. Uses `list` with a field selector, since the roles for children have no `get`. */
export async function findExisting(
  { session, signal }: ChildWriter,
  desired: DesiredChild,
  resource: Resource,
): Promise<ObjectMeta | undefined> {
  const { name, namespace } = nameOf(desired)
  const path = collectionPath(resource, namespace)
  const query = { fieldSelector: `metadata.name=${name}` }
  const call = { method: 'GET', path, query, accept: metadataForms.list, purpose: 'children', resource } as const
  const list = await session.request(call, signal)
  const items = Array.isArray(list['items']) ? (list['items'] as unknown as KubeObject[]) : []
  return items.find(({ metadata }) => metadata?.name === name)?.metadata
}

function nameOf({ object }: DesiredChild): { readonly name: string; readonly namespace?: string } {
  return object['metadata'] as { name: string; namespace?: string }
}

/**
 * Deletes the child with preconditions on uid and resourceVersion, since it may have another owner by now. Returns the object while finalizers or
 * a grace period keep it, undefined if it is gone, and 'changed' if a precondition failed.
 */
export async function deleteChild(
  { session, signal }: ChildWriter,
  child: KubeObject,
  { resource, cache }: { readonly resource: Resource; readonly cache: ChildCache },
): Promise<KubeObject | 'changed' | undefined> {
  const { name = '', namespace, uid, resourceVersion } = child.metadata
  const path = objectPath(resource, { name, namespace })
  // Without a propagation policy, deleted Jobs leave their pods behind.
  const options = { propagationPolicy: 'Background', preconditions: { uid, resourceVersion } }
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...options }
  try {
    const call = { method: 'DELETE', path, body, purpose: 'children', resource } as const
    const response = (await session.request(call, signal)) as unknown as KubeObject
    if (response.metadata?.deletionTimestamp !== undefined) {
      cache.put(response)
      return response
    }
  } catch (error) {
    if (isConflict(error)) return 'changed'
    if (!isNotFound(error)) throw error
  }
  cache.remove(child, { isDeleted: true })
  return undefined
}

/**
 * Describes why the server rejected a child, as the end of a sentence. The text goes to the log and to a condition, which more users can read
 * than the child: if the server's message quotes a secret value of the child, only the status, the reason and the fields are repeated.
 */
export function describeRefusal(error: unknown, { object }: DesiredChild): string {
  const owners = /Only one reference can have Controller set to true.* in references for (.+) and (\S+)$/
  const rivals = isUnprocessable(error) ? owners.exec(error.message.slice(0, maxMessageLength)) : null
  if (rivals !== null) {
    const names = `"${rivals[1]}" and "${rivals[2]}"`
    return `another object controls it, and there can be only one: ${names} would both; name the child differently, or delete it`
  }
  if (error instanceof ApiError && error.reason === 'Forbidden' && error.message.includes('being terminated')) {
    return 'its namespace is being deleted'
  }
  const message = describeError(error).slice(0, maxMessageLength)
  return repeatsSecret(message, secretValuesOf(object)) ? describeWithoutValues(error) : message
}

function describeWithoutValues(error: unknown): string {
  if (!(error instanceof ApiError)) return 'the reason quotes a secret of it, and is not repeated'
  const { status, reason, details } = error
  const causes = Array.isArray(details['causes']) ? details['causes'].filter(isPlainObject) : []
  const fields = causes.slice(0, maxCauses).map((cause) => `${cause['field']} (${cause['reason']})`)
  const response = reason === '' ? String(status) : `${status} ${reason}`
  return `${response}: ${[...fields, 'the message quotes a secret of it, and is not repeated'].join(', ')}`
}
