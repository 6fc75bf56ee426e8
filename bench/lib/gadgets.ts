/** The custom resource of the benchmarks: a CRD with a schema and a status, objects of about 0.9 KB, and small ones. */

export const gadgetsPath = '/apis/bench.example.com/v1/namespaces/default/gadgets'
export const crdsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const text = { type: 'string' }
const number = { type: 'integer', minimum: 0 }

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: number,
        colour: { type: 'string', enum: ['red', 'green', 'blue'], default: 'red' },
        replicas: { type: 'integer', minimum: 0, default: 1 },
        template: {
          type: 'object',
          properties: {
            image: text,
            args: { type: 'array', items: text },
            env: {
              type: 'array',
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['name'],
              items: { type: 'object', required: ['name'], properties: { name: text, value: text } },
            },
            resources: { type: 'object', additionalProperties: { type: 'string' } },
          },
        },
      },
    },
    status: { type: 'object', properties: { observed: number, phase: text } },
  },
}

export const gadgetCrd: object = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.bench.example.com' },
  spec: {
    group: 'bench.example.com',
    scope: 'Namespaced',
    names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
    versions: [
      { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
    ],
  },
}

/** An object of 0.9 KB as stored, with the fields that the server adds. */
export function gadgetBody(name: string, size: number): string {
  const env = Array.from({ length: 4 }, (_, index) => ({ name: `SETTING_${index}`, value: `value-${size}-${index}` }))
  return JSON.stringify({
    apiVersion: 'bench.example.com/v1',
    kind: 'Gadget',
    metadata: {
      name,
      labels: { 'app.kubernetes.io/name': 'bench', 'app.kubernetes.io/instance': name },
      annotations: { 'bench.example.com/note': 'written by a benchmark, without any other purpose' },
    },
    spec: {
      size,
      colour: 'green',
      replicas: 3,
      template: {
        image: 'registry.example.com/bench/gadget:1.2.3',
        args: ['--verbose', '--listen=:8080', `--size=${size}`],
        env,
        resources: { cpu: '250m', memory: '64Mi', 'ephemeral-storage': '1Gi' },
      },
    },
  })
}

/** The smallest valid object. */
export function smallBody(name: string, size: number): string {
  return JSON.stringify({ apiVersion: 'bench.example.com/v1', kind: 'Gadget', metadata: { name }, spec: { size } })
}

export function statusPatch(observed: number): string {
  return JSON.stringify({ status: { observed, phase: 'Ready' } })
}

export const mergePatch = 'application/merge-patch+json'
