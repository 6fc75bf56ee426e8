/** The resources of the fuzzer: two custom and two built-in kinds, and CRDs. fuzz.test.ts installs the CRDs on both servers. */
import type { Tree } from '../../../support/answers.ts'
import { crd, crdsPath } from '../../../support/crds.ts'

const group = 'fuzz.example.com'

/** The path of each resource; `{ns}` stands for the namespace of the run. */
export const resourcePaths: Readonly<Record<ResourceName, string>> = {
  configmaps: '/api/v1/namespaces/{ns}/configmaps',
  deployments: '/apis/apps/v1/namespaces/{ns}/deployments',
  widgets: `/apis/${group}/v1/namespaces/{ns}/widgets`,
  'widgets.v2': `/apis/${group}/v2/namespaces/{ns}/widgets`,
  gizmos: `/apis/${group}/v1/gizmos`,
  definitions: crdsPath,
  ruled: `/apis/{ns}.${group}/v1/namespaces/{ns}/ruleds`,
}

/**
 * `widgets.v2` are the same objects as `widgets`, in a version with fewer fields. The CRD of `ruled` is created during a run, in an
 * API group of that run.
 */
export type ResourceName = 'configmaps' | 'deployments' | 'widgets' | 'widgets.v2' | 'gizmos' | 'definitions' | 'ruled'

export const types: Readonly<Record<ResourceName, { readonly apiVersion: string; readonly kind: string }>> = {
  configmaps: { apiVersion: 'v1', kind: 'ConfigMap' },
  deployments: { apiVersion: 'apps/v1', kind: 'Deployment' },
  widgets: { apiVersion: `${group}/v1`, kind: 'Widget' },
  'widgets.v2': { apiVersion: `${group}/v2`, kind: 'Widget' },
  gizmos: { apiVersion: `${group}/v1`, kind: 'Gizmo' },
  definitions: { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  ruled: { apiVersion: `<ns>.${group}/v1`, kind: 'Ruled' },
}

const anything: Tree = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

const status: Tree = {
  type: 'object',
  properties: { phase: { type: 'string', enum: ['New', 'Done'] }, count: { type: 'integer' }, rest: anything },
}

const choice: Tree = {
  type: 'object',
  properties: { one: { type: 'string' }, other: { type: 'string' } },
  oneOf: [{ required: ['one'] }, { required: ['other'] }],
}

const port: Tree = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, port: { type: 'integer', default: 80 } },
}

/** Most features of structural schemas. */
const widgetSpec: Tree = {
  type: 'object',
  properties: {
    size: { type: 'integer', minimum: 0, maximum: 10 },
    ratio: { type: 'number', maximum: 1, exclusiveMaximum: true },
    colour: { type: 'string', enum: ['red', 'green'] },
    code: { type: 'string', pattern: '^[a-z]+$', minLength: 1, maxLength: 5 },
    tags: { type: 'array', maxItems: 3, items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    ports: { type: 'array', items: port, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
    amount: { 'x-kubernetes-int-or-string': true },
    free: anything,
    limits: { type: 'object', maxProperties: 2, additionalProperties: { type: 'integer' } },
    since: { type: 'string', format: 'date-time' },
    maybe: { type: 'string', nullable: true },
    mode: { type: 'string', default: 'auto' },
    nested: { type: 'object', required: ['must'], properties: { must: { type: 'boolean' } } },
    choice,
  },
}

const narrowSpec: Tree = {
  type: 'object',
  properties: { size: { type: 'integer' }, colour: { type: 'string' }, extra: { type: 'string', default: 'v2' } },
}

function version(name: string, spec: Tree, rest: Tree): Tree {
  const openAPIV3Schema = { type: 'object', properties: { spec, status } }
  return { name, served: true, storage: name === 'v1', schema: { openAPIV3Schema }, ...rest }
}

const selectableFields = [{ jsonPath: '.spec.colour' }]

/** The CRD of `ruled`. */
export function ruledDefinition(schema: Tree): Tree {
  return crd({ group: `<ns>.${group}`, kind: 'Ruled', schema })
}

export const definitions: readonly Tree[] = [
  crd({
    group,
    kind: 'Widget',
    versions: [
      version('v1', widgetSpec, { subresources: { status: {} }, selectableFields }),
      // Without selectable fields: if all versions have the same ones, the real API server requires the same schema too.
      version('v2', narrowSpec, { subresources: { status: {} } }),
    ],
  }),
  crd({
    group,
    kind: 'Gizmo',
    scope: 'Cluster',
    schema: { type: 'object', required: ['spec'], properties: { spec: { ...narrowSpec, required: ['size'] }, status } },
  }),
]
