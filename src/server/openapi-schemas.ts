/**
 * The schemas of an OpenAPI document: of the kinds served, and of what they are made of.
 * Built-in definitions come under short names (`core.v1.Pod`), and leave under those that clients know.
 */
import type { JsonObject } from '../kube/objects.ts'
import type { Json } from '../util/json.ts'
import { isPlainObject } from '../util/json.ts'
import type { ServedResource } from './resource.ts'

/** Built-in types by their short names, `$ref` being a short name too. */
export type Definitions = Readonly<Record<string, JsonObject>>

const machinery = 'io.k8s.apimachinery.pkg'

/** `core.v1.Pod` -> `io.k8s.api.core.v1.Pod` */
function longName(short: string): string {
  if (short.startsWith('meta.')) return `${machinery}.apis.${short}`
  if (short.startsWith('resource.Quantity')) return `${machinery}.api.${short}`
  if (short.startsWith('intstr.')) return `${machinery}.util.${short}`
  if (short.startsWith('runtime.')) return `${machinery}.${short}`
  if (short.startsWith('apiextensions.')) return `io.k8s.apiextensions-apiserver.pkg.apis.${short}`
  if (short.startsWith('apiregistration.')) return `io.k8s.kube-aggregator.pkg.apis.${short}`
  return `io.k8s.api.${short}`
}

export function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

export const common: Readonly<
  Record<'objectMeta' | 'listMeta' | 'status' | 'deleteOptions' | 'patch' | 'scale', string>
> = {
  objectMeta: longName('meta.v1.ObjectMeta'),
  listMeta: longName('meta.v1.ListMeta'),
  status: longName('meta.v1.Status'),
  deleteOptions: longName('meta.v1.DeleteOptions'),
  patch: longName('meta.v1.Patch'),
  scale: longName('autoscaling.v1.Scale'),
}

/** The name of a kind's schema. A CRD's group is written backwards: `dev.kopf.v1.KopfExample`. */
export function schemaName({ group, version, kind, isCustom }: ServedResource, suffix = ''): string {
  if (isCustom) return `${group.split('.').reverse().join('.')}.${version}.${kind}${suffix}`
  return longName(shortName(group, version, kind)) + suffix
}

function shortName(group: string, version: string, kind: string): string {
  return `${group === '' ? 'core' : group.split('.')[0]}.${version}.${kind}`
}

const text: JsonObject = { type: 'string' }
const anything: JsonObject = { type: 'object' }
const texts: JsonObject = { type: 'array', items: text }

/** Schemas that every document refers to, where the definitions do not have them. */
const basics: Readonly<Record<string, JsonObject>> = {
  [common.objectMeta]: { type: 'object' },
  [common.listMeta]: {
    type: 'object',
    properties: {
      continue: text,
      remainingItemCount: { type: 'integer', format: 'int64' },
      resourceVersion: text,
      selfLink: text,
    },
  },
  [common.status]: {
    type: 'object',
    properties: {
      apiVersion: text,
      code: { type: 'integer', format: 'int32' },
      details: { type: 'object' },
      kind: text,
      message: text,
      metadata: reference(common.listMeta),
      reason: text,
      status: text,
    },
  },
  [common.deleteOptions]: {
    type: 'object',
    properties: {
      apiVersion: text,
      dryRun: texts,
      gracePeriodSeconds: { type: 'integer', format: 'int64' },
      kind: text,
      orphanDependents: { type: 'boolean' },
      preconditions: { type: 'object', properties: { resourceVersion: text, uid: text } },
      propagationPolicy: text,
    },
  },
  [common.patch]: { type: 'object', description: 'A patch, in the form that its content type says.' },
  [common.scale]: {
    type: 'object',
    properties: {
      apiVersion: text,
      kind: text,
      metadata: reference(common.objectMeta),
      spec: { type: 'object', properties: { replicas: { type: 'integer', format: 'int32' } } },
      status: {
        type: 'object',
        properties: { replicas: { type: 'integer', format: 'int32' }, selector: text },
        required: ['replicas'],
      },
    },
  },
}

/** All schemas that the resources of one version need, sorted by name. Of built-in kinds the definitions have the last word. */
export function collectSchemas(resources: readonly ServedResource[], definitions: Definitions): JsonObject {
  const schemas = new Map<string, JsonObject>(Object.entries(basics))
  const needed = ['meta.v1.ObjectMeta', 'autoscaling.v1.Scale']
  for (const resource of resources) {
    const { group, version, kind, isCustom } = resource
    schemas.set(
      schemaName(resource),
      isCustom ? customSchema(resource) : withKind(resource.openapi ?? anything, resource, ''),
    )
    if (!isCustom) needed.push(shortName(group, version, kind))
    if (resource.verbs.includes('list')) schemas.set(schemaName(resource, 'List'), listSchema(resource))
  }
  addDefinitions(schemas, needed, definitions)
  const sorted = [...schemas].sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(sorted)
}

/** What is referred to, and what that refers to. `needed` grows while it is read. */
function addDefinitions(schemas: Map<string, JsonObject>, needed: string[], definitions: Definitions): void {
  const added = new Set<string>()
  for (const name of needed) {
    const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (definition === undefined || added.has(name)) continue
    added.add(name)
    schemas.set(longName(name), expand(definition, needed))
  }
}

/** With references as documents have them; notes what is referred to. Only for definitions of our own: those are shallow. */
function expand<T extends Json>(value: T, needed: string[]): T {
  if (Array.isArray(value)) return value.map((element) => expand(element, needed)) as T
  if (!isPlainObject(value)) return value
  const short = value['$ref']
  if (typeof short === 'string' && !short.startsWith('#')) {
    needed.push(short)
    return reference(longName(short)) as T
  }
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, expand(child, needed)])) as T
}

function withKind(schema: JsonObject, { group, version, kind }: ServedResource, suffix: string): JsonObject {
  return { ...schema, 'x-kubernetes-group-version-kind': [{ group, kind: `${kind}${suffix}`, version }] }
}

/** A CRD says nothing, or nothing worth showing, of the fields that all objects have. */
function customSchema(resource: ServedResource): JsonObject {
  const schema = resource.openapi ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const properties = isPlainObject(schema['properties']) ? schema['properties'] : {}
  const all = { ...properties, apiVersion: text, kind: text, metadata: reference(common.objectMeta) }
  return withKind({ ...schema, properties: all }, resource, '')
}

function listSchema(resource: ServedResource): JsonObject {
  const schema: JsonObject = {
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: text,
      items: { type: 'array', items: reference(schemaName(resource)) },
      kind: text,
      metadata: reference(common.listMeta),
    },
  }
  return withKind(schema, resource, 'List')
}
