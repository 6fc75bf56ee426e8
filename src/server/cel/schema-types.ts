/**
 * Maps a schema to CEL types with maximum sizes, for type checks and cost estimates. Parts without a CEL type, such as unknown
 * fields, are not visible to rules.
 */
import { isPlainObject } from '../../util/json/json.ts'
import type { JsonSchema } from '../schema/structural.ts'
import { escapeField } from './escaping.ts'
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  stringType,
  struct,
  timestampType,
} from './types.ts'

/** Assumed maximum size of a request. */
export const maxRequestBytes: number = 3 * 1024 * 1024

export interface SchemaType {
  readonly type: CelType
  /** Maximum length of a string, list or map. */
  readonly maxElements: number
  /** Minimum size in JSON, from which the maximum length of unbounded lists is derived. */
  readonly minSize: number
  readonly element?: SchemaType
  readonly key?: SchemaType
  readonly fields?: ReadonlyMap<string, SchemaType>
}

const scalar = (type: CelType, minSize: number, maxElements = 0): SchemaType => ({ type, minSize, maxElements })
const textType = scalar(stringType, 2, maxRequestBytes - 2)

/** Adds kind, apiVersion and metadata, which rules can always access at the root of a resource. */
export function withMeta(schema: JsonSchema): JsonSchema {
  const { kind, apiVersion, metadata } = schema.properties ?? {}
  const { name, generateName } = metadata?.properties ?? {}
  const isMetaKnown = metadata?.type === 'object' && name?.type === 'string' && generateName?.type === 'string'
  if (kind?.type === 'string' && apiVersion?.type === 'string' && isMetaKnown) return schema
  const text = { type: 'string' }
  const meta = { type: 'object', properties: { name: text, generateName: text } }
  return { ...schema, properties: { ...schema.properties, kind: text, apiVersion: text, metadata: meta } }
}

/** Undefined if rules cannot see the schema. `name` is the type name in messages. */
export function schemaType(given: JsonSchema, isRoot: boolean, name: string): SchemaType | undefined {
  if (given['x-kubernetes-int-or-string']) {
    const { maxLength } = given
    return scalar(dynType, 1, maxLength === undefined ? maxRequestBytes - 2 : positive(maxLength) * 4)
  }
  const schema = isRoot ? withMeta(given) : given
  switch (schema.type) {
    case 'array':
      return listType(schema, name)
    case 'object':
      return isPlainObject(schema.additionalProperties) ? mapType(schema, name) : objectType(schema, name)
    case 'string':
      return stringTypeOf(schema)
    case 'boolean':
      return scalar(boolType, 4)
    case 'number':
      return scalar(doubleType, 1)
    case 'integer':
      return scalar(intType, 1)
    default:
      return undefined
  }
}

const positive = (value: number): number => Math.max(value, 0)
const childType = (schema: JsonSchema, name: string): SchemaType | undefined =>
  schemaType(schema, schema['x-kubernetes-embedded-resource'] ?? false, name)

function listType({ items, maxItems }: JsonSchema, name: string): SchemaType | undefined {
  const element = isPlainObject(items) ? childType(items as JsonSchema, `${name}.@idx`) : undefined
  if (!element) return undefined
  const estimated = Math.floor((maxRequestBytes - 2) / (element.minSize + 1))
  const maxElements = maxItems === undefined ? estimated : positive(maxItems)
  return { type: listOf(element.type), maxElements, minSize: 2, element }
}

function mapType({ additionalProperties, maxProperties }: JsonSchema, name: string): SchemaType | undefined {
  const element = childType(additionalProperties as JsonSchema, `${name}.@elem`)
  if (!element) return undefined
  const estimated = Math.floor((maxRequestBytes - 2) / (element.minSize + 6))
  const maxElements = maxProperties === undefined ? estimated : positive(maxProperties)
  return { type: mapOf(stringType, element.type), maxElements, minSize: 2, element, key: scalar(stringType, 2, 0) }
}

function objectType({ properties = {}, required = [] }: JsonSchema, name: string): SchemaType {
  const fields = new Map<string, SchemaType>()
  let minSize = 2
  for (const [field, schema] of Object.entries(properties)) {
    const escaped = escapeField(field)
    const type = childType(schema, `${name}.${escaped ?? field}`)
    if (!type) continue
    if (escaped !== undefined) fields.set(escaped, type)
    if (required.includes(field) && (schema.default ?? undefined) === undefined) {
      minSize += Buffer.byteLength(field) + type.minSize + 4
    }
  }
  const types = new Map([...fields].map(([field, { type }]) => [field, type]))
  return { type: struct(name, types), maxElements: 0, minSize, fields }
}

function stringTypeOf({ format, maxLength, enum: values = [] }: JsonSchema): SchemaType {
  switch (format) {
    case 'byte':
      return scalar(bytesType, 2, maxLength === undefined ? maxRequestBytes - 2 : positive(maxLength))
    case 'duration':
      return scalar(durationType, 3, 32)
    case 'date':
      return scalar(timestampType, 12, 12)
    case 'date-time':
      return scalar(timestampType, 21, 32)
  }
  // A character takes up to four bytes.
  if (maxLength !== undefined) return scalar(stringType, 2, positive(maxLength) * 4)
  if (values.length === 0) return textType
  return scalar(
    stringType,
    2,
    Math.max(0, ...values.map((one) => (typeof one === 'string' ? Buffer.byteLength(one) : 0))),
  )
}

/** The type at a path of estimate.ts, whose elements are field names, `@items`, `@values` or `@keys`. */
export function typeAtPath(root: SchemaType, path: readonly string[]): SchemaType | undefined {
  let current: SchemaType | undefined = root
  for (const part of path) {
    if (part === '@items' || part === '@values') current = current?.element
    else if (part === '@keys') current = current?.key
    else current = current?.fields?.get(part)
  }
  return current
}
