/**
 * The types that rules see in a schema, with how large their values can be: by these, rules are checked and their costs
 * estimated. What has no type in CEL, such as unknown fields, is not seen at all.
 */
import { isPlainObject } from '../../util/json.ts'
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

/** The largest request that is assumed to exist. */
export const maxRequestBytes: number = 3 * 1024 * 1024

export interface SchemaType {
  readonly type: CelType
  /** Of texts, lists and maps: how long they can be. */
  readonly maxElements: number
  /** What a value takes in JSON at least: by this, unbounded lists are bounded. */
  readonly minSize: number
  readonly element?: SchemaType
  readonly key?: SchemaType
  readonly fields?: ReadonlyMap<string, SchemaType>
}

const scalar = (type: CelType, minSize: number, maxElements = 0): SchemaType => ({ type, minSize, maxElements })
const textType = scalar(stringType, 2, maxRequestBytes - 2)

/** At the root of a resource these are always there, whatever its schema says. */
export function withMeta(schema: JsonSchema): JsonSchema {
  const { kind, apiVersion, metadata } = schema.properties ?? {}
  const { name, generateName } = metadata?.properties ?? {}
  const isMetaKnown = metadata?.type === 'object' && name?.type === 'string' && generateName?.type === 'string'
  if (kind?.type === 'string' && apiVersion?.type === 'string' && isMetaKnown) return schema
  const text = { type: 'string' }
  const meta = { type: 'object', properties: { name: text, generateName: text } }
  return { ...schema, properties: { ...schema.properties, kind: text, apiVersion: text, metadata: meta } }
}

/** Undefined where rules see nothing of it. `name` is that of its type in messages. */
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
  // A character may take four bytes.
  if (maxLength !== undefined) return scalar(stringType, 2, positive(maxLength) * 4)
  if (values.length === 0) return textType
  return scalar(
    stringType,
    2,
    Math.max(0, ...values.map((one) => (typeof one === 'string' ? Buffer.byteLength(one) : 0))),
  )
}

/** What stands at a path of estimate.ts: fields by name, `@items`, `@values`, `@keys`. */
export function typeAtPath(root: SchemaType, path: readonly string[]): SchemaType | undefined {
  let current: SchemaType | undefined = root
  for (const part of path) {
    if (part === '@items' || part === '@values') current = current?.element
    else if (part === '@keys') current = current?.key
    else current = current?.fields?.get(part)
  }
  return current
}
