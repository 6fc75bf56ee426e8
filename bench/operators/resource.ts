/** What the operators handle: one custom resource with a status subresource, whose status may hold anything. */
import { gadgetBody } from '../fixtures.ts'

export const group = 'operators.example.com'
export const plural = 'gadgets'

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

export const definition: object = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } },
      },
    ],
  },
}

export function pathOf(namespace: string): string {
  return `/apis/${group}/v1/namespaces/${namespace}/${plural}`
}

export interface Gadget {
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
  }
  readonly spec: { readonly size: number }
  readonly status?: { readonly observed?: number; readonly [field: string]: unknown }
}

export type Labels = Readonly<Record<string, string>>

/** 0.9 KB, as in the benchmark of the server, with labels of one's own. */
export function bodyOf(name: string, size: number, labels: Labels = {}): string {
  return JSON.stringify(toGadget(name, size, labels))
}

/** As Kopf leaves an object whose create handlers have run: with its finalizer and the last handled state. */
export function handledBodyOf(name: string, size: number): string {
  const gadget = toGadget(name, size, {})
  const { metadata, spec } = gadget
  const { labels, annotations } = metadata
  const essence = `${JSON.stringify({ spec, metadata: { labels, annotations } })}\n`
  return JSON.stringify({
    ...gadget,
    metadata: {
      ...metadata,
      finalizers: ['kopf.zalando.org/KopfFinalizerMarker'],
      annotations: { ...annotations, 'kopf.zalando.org/last-handled-configuration': essence },
    },
  })
}

function toGadget(name: string, size: number, labels: Labels) {
  const gadget = JSON.parse(gadgetBody(name, size)) as {
    metadata: { name: string; labels: Labels; annotations: Labels }
    spec: object
  }
  const metadata = { ...gadget.metadata, labels: { ...gadget.metadata.labels, ...labels } }
  return { ...gadget, apiVersion: `${group}/v1`, metadata }
}
