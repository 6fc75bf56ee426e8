/** The resources that say what there is to serve: known without looking, since every cluster has them. */
import type { Resource } from './resources.ts'

const observed = {
  categories: [],
  subresources: ['status'],
  namespaced: false,
  preferred: true,
  verbs: ['get', 'list', 'watch'],
}

export const namespacesResource: Resource = {
  ...observed,
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  singular: 'namespace',
  shortcuts: ['ns'],
}

export const definitionsResource: Resource = {
  ...observed,
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  singular: 'customresourcedefinition',
  shortcuts: ['crd', 'crds'],
}
