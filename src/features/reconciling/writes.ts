/** The two requests that are made for children. What they answer is what is known of the child from then on. */
import { ApiError, isConflict, isNotFound, isUnprocessable } from '../../client/api-error.ts'
import type { Session } from '../../client/calls.ts'
import { objectPath } from '../../client/requests.ts'
import { describeError } from '../../core/handling/outcomes.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { findLost } from './as-wanted.ts'
import type { ChildCache, Parentage } from './child-cache.ts'
import { formatPath } from './field-sets.ts'
import { type Wanted, withMark } from './wanted.ts'

export interface ChildWriter {
  readonly session: Session
  readonly signal: AbortSignal
  readonly fieldManager: string
}

interface Applied {
  readonly child: KubeObject
  /** What is wanted of it, and is not there. */
  readonly unkept: readonly string[]
  /** Whose child it was, and whose it is. */
  readonly concerned: readonly Parentage[]
}

/** JSON is YAML, and this is the only name that apply has. */
const applyType = 'application/apply-patch+yaml'

/** By force: what is wanted is for the reconciler to say, whoever else has an opinion. Others keep what is not wanted. */
export async function applyChild(
  { session, signal, fieldManager }: ChildWriter,
  wanted: Wanted,
  { resource, cache }: { readonly resource: Resource; readonly cache: ChildCache },
): Promise<Applied> {
  const body = withMark(wanted)
  const { name, namespace } = body['metadata'] as { name: string; namespace?: string }
  const path = objectPath(resource, { name, namespace })
  const query = { fieldManager, force: true }
  const call = { method: 'PATCH', path, query, body, contentType: applyType } as const
  const child = (await session.request(call, signal)) as unknown as KubeObject
  const unkept = findLost(wanted, child, fieldManager).map(formatPath)
  const concerned = cache.put(child)
  cache.noteUnkept(child, unkept)
  return { child, unkept, concerned }
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

/** Why a child was refused, as the end of a sentence. */
export function describeRefusal(error: unknown): string {
  const owners = /Only one reference can have Controller set to true.* in references for (.+) and (\S+)$/
  const rivals = isUnprocessable(error) ? owners.exec(error.message) : null
  if (rivals !== null) {
    const names = `"${rivals[1]}" and "${rivals[2]}"`
    return `another object controls it, and there can be only one: ${names} would both; name the child differently, or delete it`
  }
  if (error instanceof ApiError && error.reason === 'Forbidden' && error.message.includes('being terminated')) {
    return 'its namespace is being deleted'
  }
  return describeError(error)
}
