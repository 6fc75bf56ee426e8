/**
 * The second half of the structural check: every field under a root `anyOf`, `allOf`, `oneOf` or `not` must also be specified
 * outside it. Also finds keywords that structural schemas do not support. Called by structural.ts.
 */

import { isPlainObject } from '../../util/json/json.ts'
import { type FieldError, required } from '../field-errors.ts'
import type { JsonSchema } from '../schema/structural.ts'

interface Paths {
  /** Path of the schema that has to specify the field. */
  readonly structural: string
  /** Path of the schema that restricts the field. */
  readonly nested: string
}

export function validateCompleteness(schema: JsonSchema, path: string): FieldError[] {
  return validateJunctors(schema, schema, { structural: path, nested: path })
}

function validateJunctors(nested: JsonSchema, schema: JsonSchema, { structural, nested: path }: Paths): FieldError[] {
  const { not, allOf = [], anyOf = [], oneOf = [] } = nested
  const check = (child: JsonSchema, name: string): FieldError[] => {
    return validateNested(child, schema, { structural, nested: `${path}.${name}` })
  }
  return [
    ...(not ? check(not, 'not') : []),
    ...allOf.flatMap((child, index) => check(child, `allOf[${index}]`)),
    ...anyOf.flatMap((child, index) => check(child, `anyOf[${index}]`)),
    ...oneOf.flatMap((child, index) => check(child, `oneOf[${index}]`)),
  ]
}

function validateNested(nested: JsonSchema, schema: JsonSchema | undefined, paths: Paths): FieldError[] {
  if (!schema) return [required(paths.structural, `because it is defined in ${paths.nested}`)]
  const errors = validateJunctors(nested, schema, paths)
  if (isPlainObject(nested.items)) {
    const items = isPlainObject(schema.items) ? (schema.items as JsonSchema) : undefined
    const below = { structural: `${paths.structural}.items`, nested: `${paths.nested}.items` }
    errors.push(...validateNested(nested.items as JsonSchema, items, below))
  }
  for (const [name, child] of Object.entries(nested.properties ?? {})) {
    const specified = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    const suffix = `.properties[${name}]`
    const below = { structural: paths.structural + suffix, nested: paths.nested + suffix }
    errors.push(...validateNested(child, specified, below))
  }
  return errors
}

const unsupported: ReadonlyArray<readonly [field: keyof JsonSchema, name: string]> = [
  ['id', 'id'],
  ['$schema', 'schema'],
  ['$ref', '$ref'],
  ['patternProperties', 'patternProperties'],
  ['dependencies', 'dependencies'],
  ['additionalItems', 'additionalItems'],
  ['definitions', 'definitions'],
]

/** The first keyword that structural schemas do not support. Usually openapi.ts also reports it, with a better message. */
export function findUnsupported(schema: JsonSchema): string | undefined {
  const own = unsupported.find(([field]) => schema[field] !== undefined && schema[field] !== '')
  if (own) return `OpenAPIV3Schema '${own[1]}' is not supported`
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
  }
  if (Array.isArray(schema.items)) return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  for (const child of childSchemas(schema)) {
    const problem = findUnsupported(child)
    if (problem !== undefined) return problem
  }
  return undefined
}

function childSchemas(schema: JsonSchema): JsonSchema[] {
  const { not, allOf = [], anyOf = [], oneOf = [], items, properties = {}, additionalProperties } = schema
  return [
    ...(not ? [not] : []),
    ...allOf,
    ...anyOf,
    ...oneOf,
    ...(items === undefined ? [] : [items].flat()),
    ...Object.values(properties),
    ...(isPlainObject(additionalProperties) ? [additionalProperties as JsonSchema] : []),
  ]
}

export function hasSchema(schema: JsonSchema, is: (schema: JsonSchema) => boolean): boolean {
  return is(schema) || childSchemas(schema).some((child) => hasSchema(child, is))
}
