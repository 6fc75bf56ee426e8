/** Checks that the metadata of an object does not contradict the path of the request. */
import type { KubeObject, OwnerReference } from '../../kube/objects.ts'
import type { ResourceCall } from '../call.ts'
import { badRequest } from '../status.ts'

/** Sets the namespace of the path; another namespace in the object is an error. */
export function matchNamespace({ path, resource }: ResourceCall, { metadata }: KubeObject): void {
  if (!resource.namespaced) {
    delete metadata.namespace
    return
  }
  if (path.namespace === '') throw badRequest('an empty namespace may not be set during creation')
  if (metadata.namespace && metadata.namespace !== path.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  metadata.namespace = path.namespace
}

export function matchName({ path }: ResourceCall, { metadata }: KubeObject): void {
  if (!metadata.name)
    throw badRequest(`the name of the object (${path.name} based on URL) was undeterminable: name must be provided`)
  if (metadata.name === path.name) return
  throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${path.name})`)
}

/** Removes duplicate owner references and warns the client. */
export function dropDuplicateOwners(object: KubeObject, warnings: string[], isPatch = false): void {
  const owners = object.metadata.ownerReferences
  if (owners === undefined || owners.length < 2) return
  const kept = new Map<string, OwnerReference>()
  const dropped: string[] = []
  for (const owner of owners) {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner
    const key = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion])
    if (kept.has(key)) dropped.push(uid)
    else kept.set(key, owner)
  }
  if (dropped.length === 0) return
  object.metadata.ownerReferences = [...kept.values()]
  // Owner references of patched objects are checked only once, after admission.
  const when = isPatch ? ' after mutating admission happens' : ''
  warnings.push(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${dropped.join(', ')}`,
  )
}
