/** Schemas of custom resources for OpenAPI documents, created from their CRDs like in kube-apiserver. */
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import type { ApiResource } from '../resource.ts'
import { common, reference, type SchemaDefinitions, schemaName } from './names.ts'

const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'

const objectMeta: JsonObject = {
  description: `Standard object's metadata. More info: ${conventions}#metadata`,
  allOf: [reference(common.objectMeta)],
}

const listMeta: JsonObject = {
  description: `Standard list metadata. More info: ${conventions}#types-kinds`,
  allOf: [reference(common.listMeta)],
}

const embeddedProperties: JsonObject = {
  apiVersion: {
    description: `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`,
    type: 'string',
  },
  kind: {
    description: `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`,
    type: 'string',
  },
  metadata: objectMeta,
}

export function customSchema(resource: ApiResource, definitions: SchemaDefinitions): JsonObject {
  const { openapi, kind } = resource
  if (openapi === undefined) return withKind({ type: 'object' }, resource, kind)
  const schema = completed(openapi)
  const properties = { ...propertiesOf(schema), ...typeProperties(definitions), metadata: objectMeta }
  return withKind({ ...schema, properties }, resource, kind)
}

export function customListSchema(resource: ApiResource, definitions: SchemaDefinitions): JsonObject {
  const { plural, kind, listKind } = resource
  const items = {
    description: `List of ${plural}. More info: ${conventions}`,
    type: 'array',
    items: reference(schemaName(resource)),
  }
  const schema: JsonObject = {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: { ...typeProperties(definitions), items, metadata: listMeta },
  }
  return withKind(schema, resource, listKind)
}

/** All kinds have the same descriptions of `apiVersion` and `kind`. */
function typeProperties(definitions: SchemaDefinitions): JsonObject {
  const { apiVersion, kind } = propertiesOf(definitions[common.deleteOptions] ?? {})
  return { apiVersion: apiVersion ?? { type: 'string' }, kind: kind ?? { type: 'string' } }
}

function withKind(schema: JsonObject, { group, version, strategy }: ApiResource, kind: string): JsonObject {
  const selectable = strategy.selectableFieldNames ?? []
  return {
    ...schema,
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
    ...(selectable.length === 0
      ? {}
      : { 'x-kubernetes-selectable-fields': selectable.map((fieldPath) => ({ fieldPath })) }),
  }
}

function propertiesOf(schema: JsonObject): JsonObject {
  return isPlainObject(schema['properties']) ? schema['properties'] : {}
}

/** Adds implied parts of a CRD schema: the types of int-or-string, and the fields of embedded resources. */
function completed(schema: JsonObject): JsonObject {
  const result = { ...schema }
  if (isPlainObject(schema['properties'])) result['properties'] = completedAll(schema['properties'])
  for (const name of ['items', 'additionalProperties']) {
    if (isPlainObject(schema[name])) result[name] = completed(schema[name])
  }
  if (schema['x-kubernetes-int-or-string'] === true && schema['anyOf'] === undefined) {
    result['anyOf'] = [{ type: 'integer' }, { type: 'string' }]
  }
  if (schema['x-kubernetes-embedded-resource'] !== true) return result
  const required = (schema['required'] ?? []) as Json[]
  const missing = ['kind', 'apiVersion'].filter((name) => !required.includes(name))
  const properties = { ...propertiesOf(result), ...embeddedProperties }
  return { ...result, required: [...required, ...missing], properties }
}

function completedAll(properties: JsonObject): JsonObject {
  // Object.fromEntries, because a property may be named `__proto__`.
  const entries = Object.entries(properties)
  return Object.fromEntries(entries.map(([name, child]) => [name, completed(child as JsonObject)]))
}
