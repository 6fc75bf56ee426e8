/** The custom resource of the operator benchmarks: any spec and status, with a status subresource. */
import { type Access, Connection, type Request } from './connection.ts'
import { gadgetBody, mergePatch } from './gadgets.ts'
import { check } from './measure.ts'

export const group = 'operators.example.com'
export const plural = 'gadgets'

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

export const schemalessCrd: object = {
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

/** An object of 0.9 KB, like gadgets.ts, with additional labels. */
export function bodyOf(name: string, size: number, labels: Labels = {}): string {
  return JSON.stringify(toGadget(name, size, labels))
}

/** An object whose create handlers have run in Kopf: it has the finalizer and the last handled state. */
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

export function toCreations(namespace: string, count: number, toBody: (index: number) => string): Request[] {
  const path = pathOf(namespace)
  return Array.from({ length: count }, (_, index) => ({ method: 'POST', path, body: toBody(index) }))
}

export function toResize(namespace: string, name: string, size: number): Request {
  const body = JSON.stringify({ spec: { size } })
  return { method: 'PATCH', path: `${pathOf(namespace)}/${name}`, body, contentType: mergePatch }
}

export async function readAll(access: Access, namespace: string): Promise<Gadget[]> {
  const connection = await Connection.open(access)
  const { status, body } = await connection.send({ path: pathOf(namespace) })
  connection.close()
  check(status === 200, `the objects were not listed: ${status}`)
  return (JSON.parse(body.toString()) as { items: Gadget[] }).items
}
