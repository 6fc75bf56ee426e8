/**
 * What the server itself has to say before a write: nothing is created in a namespace that is not there or is going,
 * and the namespaces the API cannot do without stay. The one built-in admission plugin there is (NamespaceLifecycle).
 */
import type { KubeObject } from '../kube/objects.ts'
import type { Call } from './call.ts'
import { forbidden, notFound, StatusError } from './status.ts'

const namespaces = { group: '', plural: 'namespaces' }
const permanent = new Set(['default', 'kube-system', 'kube-public'])

export function admitCreation({ store, resource, path }: Call, object: KubeObject): void {
  if (resource.isTerminating) {
    const why = 'create not allowed while custom resource definition is terminating'
    throw forbidden(resource, object.metadata.name ?? '', why)
  }
  if (!resource.namespaced) return
  const namespace = store.collection('namespaces').get(path.namespace)
  if (namespace === undefined) throw notFound(namespaces, path.namespace)
  if (!namespace.isDeleting) return
  const why = `unable to create new content in namespace ${path.namespace} because it is being terminated`
  const refusal = forbidden(resource, object.metadata.name ?? '', why)
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${path.namespace} is being terminated`,
    field: 'metadata.namespace',
  }
  throw new StatusError(403, 'Forbidden', refusal.message, { ...refusal.details, causes: [cause] })
}

export function admitDeletion({ resource }: Call, name: string): void {
  if (resource.group !== '' || resource.plural !== 'namespaces' || !permanent.has(name)) return
  throw forbidden(namespaces, name, 'this namespace may not be deleted')
}
