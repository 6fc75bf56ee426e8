/** The requests that are made for children: apply, delete, and a look at what has a name. */
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
import { type DesiredChild, withLabels } from './desired.ts'

export interface ChildWriter {
  readonly session: Session
  readonly signal: AbortSignal
  readonly fieldManager: string
}

export interface AppliedChild {
  readonly child: KubeObject
  /** What is wanted of it, and is not there. */
  readonly dropped: readonly string[]
  /** Whose child it was, and whose it is. */
  readonly concerned: readonly OwnerKeyOfChild[]
}

/**
 * Which object an apply is for. The server refuses it (409, or 422 for another uid) where the name belongs to another one: a look
 * before the write would leave a gap between the two.
 */
export type ApplyTarget =
  /** None may be there yet: the apply creates it. */
  | { readonly type: 'new' }
  | { readonly type: 'known'; readonly uid: string }
  /** The object that has the name, if there is one. */
  | { readonly type: 'any' }

/**
 * A version that no object has. Apply creates an absent object for any version that it names, and refuses to change an object of another
 * version than it names: so with this one, it only creates. (The highest that 64 bits with a sign hold.)
 */
const versionOfNone = '9223372036854775807'

/** More fields than these are not named in a message. */
const maxCauses = 5
/** Characters of a message of the server that are read and repeated. */
const maxWords = 4096

/** JSON is YAML, and this is the only name that apply has. */
const applyType = 'application/apply-patch+yaml'

/** By force: what is wanted is for the reconciler to say, whoever else has an opinion. Others keep what is not wanted. */
export async function applyChild(
  { session, signal, fieldManager }: ChildWriter,
  { wanted, target }: { readonly wanted: DesiredChild; readonly target: ApplyTarget },
  { resource, cache }: { readonly resource: Resource; readonly cache: ChildCache },
): Promise<AppliedChild> {
  const body = withTarget(withLabels(wanted), target)
  const path = objectPath(resource, nameOf(wanted))
  const query = { fieldManager, force: true }
  const call = { method: 'PATCH', path, query, body, contentType: applyType } as const
  const child = (await session.request(call, signal)) as unknown as KubeObject
  const normalised = readNormalised(wanted, child, fieldManager)
  const concerned = cache.put(child)
  cache.noteNormalised(child, normalised)
  return { child, dropped: [...normalised.dropped], concerned }
}

function withTarget(body: JsonObject, target: ApplyTarget): JsonObject {
  if (target.type === 'any') return body
  const precondition = target.type === 'new' ? { resourceVersion: versionOfNone } : { uid: target.uid }
  return { ...body, metadata: { ...(body['metadata'] as JsonObject), ...precondition } }
}

/** Whether the server refused an apply since the name belongs to another object than the target, or to none. */
export function isOtherObject(error: unknown): boolean {
  if (isConflict(error)) return true
  const causes = isUnprocessable(error) ? error.details['causes'] : undefined
  return Array.isArray(causes) && causes.some((cause) => isPlainObject(cause) && cause['field'] === 'metadata.uid')
}

/** The metadata of the object that has the name of a child. Listed by name: a role for children has `list`, and not `get`. */
export async function findExisting(
  { session, signal }: ChildWriter,
  wanted: DesiredChild,
  resource: Resource,
): Promise<ObjectMeta | undefined> {
  const { name, namespace } = nameOf(wanted)
  const path = collectionPath(resource, namespace)
  const query = { fieldSelector: `metadata.name=${name}` }
  const list = await session.request({ method: 'GET', path, query, accept: metadataForms.list }, signal)
  const items = Array.isArray(list['items']) ? (list['items'] as unknown as KubeObject[]) : []
  return items.find(({ metadata }) => metadata?.name === name)?.metadata
}

function nameOf({ object }: DesiredChild): { readonly name: string; readonly namespace?: string } {
  return object['metadata'] as { name: string; namespace?: string }
}

/**
 * Only this very child, as it was when it was decided: it may have found another owner since. Answers with what is left of it
 * for a while; with nothing where it is gone.
 */
export async function deleteChild(
  { session, signal }: ChildWriter,
  child: KubeObject,
  { resource, cache }: { readonly resource: Resource; readonly cache: ChildCache },
): Promise<KubeObject | 'changed' | undefined> {
  const { name = '', namespace, uid, resourceVersion } = child.metadata
  const path = objectPath(resource, { name, namespace })
  // Jobs would leave their pods behind, were nothing said of them.
  const options = { propagationPolicy: 'Background', preconditions: { uid, resourceVersion } }
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...options }
  try {
    const answer = (await session.request({ method: 'DELETE', path, body }, signal)) as unknown as KubeObject
    if (answer.metadata?.deletionTimestamp !== undefined) {
      cache.put(answer)
      return answer
    }
  } catch (error) {
    if (isConflict(error)) return 'changed'
    if (!isNotFound(error)) throw error
  }
  cache.remove(child, { isForGood: true })
  return undefined
}

/**
 * Why a child was refused, as the end of a sentence. It ends up in the log and in a condition, which more people can read than the child:
 * where the server quotes a secret of the child, only the fields and the kind of the refusal are repeated.
 */
export function describeRefusal(error: unknown, { object }: DesiredChild): string {
  const owners = /Only one reference can have Controller set to true.* in references for (.+) and (\S+)$/
  const rivals = isUnprocessable(error) ? owners.exec(error.message.slice(0, maxWords)) : null
  if (rivals !== null) {
    const names = `"${rivals[1]}" and "${rivals[2]}"`
    return `another object controls it, and there can be only one: ${names} would both; name the child differently, or delete it`
  }
  if (error instanceof ApiError && error.reason === 'Forbidden' && error.message.includes('being terminated')) {
    return 'its namespace is being deleted'
  }
  const words = describeError(error).slice(0, maxWords)
  return repeatsSecret(words, secretValuesOf(object)) ? describeWithoutValues(error) : words
}

function describeWithoutValues(error: unknown): string {
  if (!(error instanceof ApiError)) return 'the reason quotes a secret of it, and is not repeated'
  const { status, reason, details } = error
  const causes = Array.isArray(details['causes']) ? details['causes'].filter(isPlainObject) : []
  const fields = causes.slice(0, maxCauses).map((cause) => `${cause['field']} (${cause['reason']})`)
  const answer = reason === '' ? String(status) : `${status} ${reason}`
  return `${answer}: ${[...fields, 'the message quotes a secret of it, and is not repeated'].join(', ')}`
}
