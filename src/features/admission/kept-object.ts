/** One object of the cluster of which a part is ours to say: how that part is read and written, and what to say of refusals. */
import { isForbidden, isUnprocessable } from '../../client/api-error.ts'
import type { Session } from '../../client/calls.ts'
import { collectionPath, objectPath } from '../../client/requests.ts'
import { KopfError } from '../../errors.ts'
import { formatGroupVersion, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import type { Json } from '../../util/json.ts'

export interface KeptObject {
  readonly session: Session
  readonly resource: Resource
  readonly name: string
  /** For messages: `validating webhook auto.kopf.dev`. */
  readonly title: string
  /** What there is of the part, in an object or where there is none. */
  readonly read: (object: KubeObject | undefined) => Json | undefined
  /** The part as a merge patch. */
  readonly toPatch: (part: Json) => JsonObject
  /** Whether the object is made where it is missing. */
  readonly isOurs: boolean
}

export async function createObject(kept: KeptObject, part: Json, signal: AbortSignal): Promise<KubeObject> {
  const { session, resource, name, toPatch } = kept
  const { kind, group, version } = resource
  const body = { apiVersion: formatGroupVersion(group, version), kind, metadata: { name }, ...toPatch(part) }
  const answer = await session.request({ method: 'POST', path: collectionPath(resource), body }, signal)
  return answer as unknown as KubeObject
}

export async function patchObject(kept: KeptObject, part: Json, signal: AbortSignal): Promise<KubeObject> {
  const { session, resource, name, toPatch } = kept
  const path = objectPath(resource, { name })
  const contentType = 'application/merge-patch+json'
  const answer = await session.request({ method: 'PATCH', path, contentType, body: toPatch(part) }, signal)
  return answer as unknown as KubeObject
}

/** Throws where nobody but a person can put it right; `what` says what was refused. */
export function refuseHopeless({ resource, isOurs }: KeptObject, error: unknown, what: string): void {
  if (isForbidden(error)) {
    const verbs = isOurs ? '"create", "patch", "list", "watch"' : '"patch", "list", "watch"'
    throw new KopfError(
      'KOPF_FORBIDDEN',
      `${what}\nGrant the operator a cluster role with the rule: ` +
        `apiGroups: ["${resource.group}"], resources: ["${resource.plural}"], verbs: [${verbs}]`,
      { cause: error },
    )
  }
  if (isUnprocessable(error)) throw new KopfError('KOPF_WEBHOOK_CONFIGURATION', what, { cause: error })
}
