/** Short builders of objects for the suites. */
import type { Tree } from './answers.ts'

export function object(apiVersion: string, kind: string, metadata: string | Tree, rest: Tree = {}): Tree {
  return { apiVersion, kind, metadata: typeof metadata === 'string' ? { name: metadata } : metadata, ...rest }
}

export function configMap(metadata: string | Tree, rest: Tree = {}): Tree {
  return object('v1', 'ConfigMap', metadata, rest)
}

export function namespace(metadata: string | Tree, rest: Tree = {}): Tree {
  return object('v1', 'Namespace', metadata, rest)
}

export function pod(metadata: string | Tree, spec: Tree = {}): Tree {
  return object('v1', 'Pod', metadata, { spec: { containers: [{ name: 'main', image: 'nginx' }], ...spec } })
}

/** A pod template of a Deployment, a Job and the like. */
export function podTemplate(labels: Tree, spec: Tree = {}): Tree {
  return { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx' }], ...spec } }
}
