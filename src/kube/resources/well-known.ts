/** Groups and resources that are known without discovery: the built-in API groups, namespaces and CRDs. Used by cluster/ and rbac/. */
import type { Resource } from './resources.ts'

/** Built-in groups with a dot in their name. The API server serves no CRDs in built-in groups. */
const builtInGroups: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'storagemigration.k8s.io',
])

/** Whether the group can have CRDs: it is a domain with a dot, and not built in. */
export function canHaveCustomResources(group: string): boolean {
  return group.includes('.') && !builtInGroups.has(group)
}

const common = {
  categories: [],
  subresources: ['status'],
  namespaced: false,
  preferred: true,
  verbs: ['get', 'list', 'watch'],
}

export const namespacesResource: Resource = {
  ...common,
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  singular: 'namespace',
  shortcuts: ['ns'],
}

export const crdsResource: Resource = {
  ...common,
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  singular: 'customresourcedefinition',
  shortcuts: ['crd', 'crds'],
}
