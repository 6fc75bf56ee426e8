/** Converts schemas to OpenAPI v2, which has fewer features than v3. */
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import type { ApiResource } from '../resource.ts'

/** Converts a v3 schema to v2. `resource` is set for the schema of a custom kind. */
export function toSwagger(schema: JsonObject, resource?: ApiResource): JsonObject {
  if (resource === undefined) return builtin(schema)
  // A client rejects fields that a partial schema does not list, so a schema that preserves unknown fields lists none.
  if (resource.openapi !== undefined && !preservesUnknown(resource.openapi)) return custom(schema)
  const kind = 'x-kubernetes-group-version-kind'
  return { type: 'object', [kind]: schema[kind] as Json }
}

function swaggerReference(name: string): JsonObject {
  return { $ref: `#/definitions/${name}` }
}

function preservesUnknown(schema: JsonObject): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

/** Formats with several types are strings in v2. */
const severalTypes: Readonly<Record<string, JsonObject>> = {
  'int-or-string': { type: 'string', format: 'int-or-string' },
}

function builtin(schema: JsonObject): JsonObject {
  const { default: _, allOf, oneOf, ...rest } = schema
  const form = typeof rest['format'] === 'string' ? severalTypes[rest['format']] : undefined
  const type = oneOf === undefined ? {} : (form ?? { type: 'string' })
  return { ...descend(rest, builtin), ...referenceIn(allOf), ...type }
}

/** A reference with a description is an `allOf` in v3. */
function referenceIn(allOf: Json | undefined): JsonObject {
  const only = Array.isArray(allOf) && isPlainObject(allOf[0]) ? allOf[0]['$ref'] : undefined
  return typeof only === 'string' ? swaggerReference(nameIn(only)) : {}
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function custom(schema: JsonObject): JsonObject {
  const { default: _, allOf, oneOf: _o, anyOf: _a, not: _n, nullable, ...rest } = schema
  const required = requiredOf(schema)
  if (nullable === true || preservesUnknown(schema)) {
    delete rest['items']
    delete rest['properties']
    if (nullable === true || rest['type'] === 'object') delete rest['type']
    // Without the fields of an embedded resource, its required list is removed as well.
    if (schema['x-kubernetes-embedded-resource'] === true) delete rest['required']
  }
  if (rest['items'] === undefined && rest['type'] === 'array') delete rest['type']
  if (rest['required'] !== undefined) rest['required'] = required
  if (required.length === 0) delete rest['required']
  return { ...descend(rest, custom), ...referenceIn(allOf) }
}

/** Nullable fields are not required in v2, which has no null. */
function requiredOf(schema: JsonObject): Json[] {
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const { properties, additionalProperties } = schema
  if (isPlainObject(additionalProperties) && additionalProperties['nullable'] === true) return []
  if (!isPlainObject(properties)) return required
  return required.filter((name) => {
    const child = Object.hasOwn(properties, String(name)) ? properties[String(name)] : undefined
    return !isPlainObject(child) || child['nullable'] !== true
  })
}

function descend(schema: JsonObject, convert: (child: JsonObject) => JsonObject): JsonObject {
  const result = { ...schema }
  if (typeof schema['$ref'] === 'string') result['$ref'] = `#/definitions/${nameIn(schema['$ref'])}`
  for (const name of ['items', 'additionalProperties']) {
    if (isPlainObject(schema[name])) result[name] = convert(schema[name])
  }
  if (!isPlainObject(schema['properties'])) return result
  const properties = Object.entries(schema['properties'])
  result['properties'] = Object.fromEntries(properties.map(([name, child]) => [name, convert(child as JsonObject)]))
  return result
}
