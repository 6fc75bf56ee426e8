/**
 * The admission plugin NamespaceLifecycle: refuses objects in a namespace that does not exist or is being deleted, and the deletion of
 * the namespaces that the API needs. Pod admission is in builtins/, webhooks are in webhooks/.
 */
import type { KubeObject } from '../kube/objects.ts'
import type { ResourceCall } from './call.ts'
import { forbidden, notFound, StatusError } from './status.ts'

const namespaces = { group: '', plural: 'namespaces' }
const permanent = new Set(['default', 'kube-system', 'kube-public'])

export function admitCreation({ store, resource, path }: ResourceCall, object: KubeObject): void {
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

export function admitDeletion({ resource }: ResourceCall, name: string): void {
  if (resource.group !== '' || resource.plural !== 'namespaces' || !permanent.has(name)) return
  throw forbidden(namespaces, name, 'this namespace may not be deleted')
}
