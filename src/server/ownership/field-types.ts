/**
 * Field types as needed for managed fields: which lists and maps are owned per item, and which are atomic. Created from OpenAPI
 * schemas (of CRDs or built-in definitions) with kube-apiserver's rules.
 */
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'

type ScalarType = 'string' | 'number' | 'boolean' | 'any'

/** The allowed forms of a value; several only if the schema does not name a type. */
export interface FieldType {
  readonly scalar: ScalarType | undefined
  readonly list: ListType | undefined
  readonly map: MapType | undefined
}

export interface ListType {
  readonly isAtomic: boolean
  /** The fields that identify an item; empty for a set, whose items identify themselves. */
  readonly keys: readonly string[]
  /** Defaults of keys that may be omitted. */
  readonly defaults: ReadonlyMap<string, Json>
  readonly element: FieldType
}

export interface MapType {
  readonly isAtomic: boolean
  readonly fields: ReadonlyMap<string, FieldType>
  /** The type of all other fields; undefined if no others are allowed. */
  readonly element: FieldType | undefined
  /** True if the schema says nothing about the map. */
  readonly isFree: boolean
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

export type FieldTypeDefinitions = Readonly<Record<string, JsonObject>>

/** Any value, owned as a whole. */
const opaque: Writable<FieldType> = { scalar: 'any', list: undefined, map: undefined }
opaque.list = { isAtomic: true, keys: [], defaults: new Map(), element: opaque }
opaque.map = { isAtomic: true, fields: new Map(), element: opaque, isFree: false }

/** Any value: maps are owned per field, lists as a whole. */
const deduced: Writable<FieldType> = { scalar: 'any', list: opaque.list, map: undefined }
deduced.map = { isAtomic: false, fields: new Map(), element: deduced, isFree: true }

/** True if the type accepts every value, so that nothing below needs to be checked. */
export function fitsAnything(type: FieldType): boolean {
  return type === deduced || type === opaque
}

const scalarType = (scalar: ScalarType): FieldType => ({ scalar, list: undefined, map: undefined })
const anyScalar = scalarType('any')
const scalars: Readonly<Record<string, FieldType>> = {
  string: scalarType('string'),
  number: scalarType('number'),
  integer: scalarType('number'),
  boolean: scalarType('boolean'),
}

export class FieldTypes {
  readonly #definitions: () => FieldTypeDefinitions
  readonly #named = new Map<string, FieldType>()

  /** `definitions` is called when a type is first needed. */
  constructor(definitions: () => FieldTypeDefinitions) {
    this.#definitions = definitions
  }

  /** The type of a definition: `core.v1.Pod`. */
  named(name: string): FieldType {
    if (name === 'resource.Quantity') return anyScalar
    if (name === 'runtime.RawExtension') return opaque
    const known = this.#named.get(name)
    if (known !== undefined) return known
    // Registered before it is complete, because JSON schema types contain themselves.
    const type: Writable<FieldType> = { scalar: undefined, list: undefined, map: undefined }
    this.#named.set(name, type)
    Object.assign(type, this.#inline(this.#definitions()[name] ?? {}, false))
    return type
  }

  /** The type of a CRD's schema; `apiVersion`, `kind` and `metadata` have their common types. */
  custom(schema: JsonObject | undefined): FieldType {
    if (schema === undefined) return this.custom({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
    return this.#inline({ ...schema, properties: withMetadata(schema) }, false)
  }

  #of(schema: JsonObject, isOpen: boolean): FieldType {
    const name = schema['$ref']
    if (typeof name !== 'string') return this.#inline(schema, isOpen)
    const type = this.named(name)
    const mapType = schema['x-kubernetes-map-type']
    if (mapType === undefined || type.map === undefined) return type
    return { ...type, map: { ...type.map, isAtomic: mapType === 'atomic' } }
  }

  /** `isOpen`: an enclosing schema preserves unknown fields, which also holds for everything below. */
  #inline(schema: JsonObject, isOpen: boolean): FieldType {
    const keepsUnknown = isOpen || schema['x-kubernetes-preserve-unknown-fields'] === true
    switch (schema['type']) {
      case undefined:
      case '':
        return { scalar: 'any', list: this.#list(schema, keepsUnknown), map: this.#map(schema, keepsUnknown) }
      case 'object':
        return { scalar: undefined, list: undefined, map: this.#map(schema, keepsUnknown) }
      case 'array':
        return { scalar: undefined, list: this.#list(schema, keepsUnknown), map: undefined }
      case 'string': {
        const { format = '' } = schema
        return format === '' || format === 'byte' ? scalars['string']! : anyScalar
      }
      default:
        return scalars[schema['type'] as string] ?? anyScalar
    }
  }

  #map(schema: JsonObject, isOpen: boolean): MapType {
    const properties = isEmbedded(schema) ? withMetadata(schema) : propertiesOf(schema)
    const fields = new Map(Object.entries(properties).map(([name, child]) => [name, this.#of(child, isOpen)]))
    const element = this.#element(schema, isOpen, fields.size === 0)
    const isFree = fields.size === 0 && element === deduced
    return { isAtomic: schema['x-kubernetes-map-type'] === 'atomic', fields, element, isFree }
  }

  #element({ additionalProperties }: JsonObject, isOpen: boolean, hasNoFields: boolean): FieldType | undefined {
    if (additionalProperties === undefined) return isOpen || hasNoFields ? deduced : undefined
    if (isPlainObject(additionalProperties)) return this.#of(additionalProperties, isOpen)
    return additionalProperties ? deduced : undefined
  }

  #list(schema: JsonObject, isOpen: boolean): ListType {
    const { items } = schema
    const element = isPlainObject(items) ? this.#of(items, isOpen) : opaque
    const keys = listKeys(schema)
    if (keys === undefined) return { isAtomic: true, keys: [], defaults: new Map(), element }
    const properties = isPlainObject(items) ? propertiesOf(this.#resolved(items)) : {}
    return { isAtomic: false, keys, defaults: defaultsOf(keys, properties), element }
  }

  #resolved(schema: JsonObject): JsonObject {
    const name = schema['$ref']
    return typeof name === 'string' ? (this.#definitions()[name] ?? {}) : schema
  }
}

const text: JsonObject = { type: 'string' }
const metadata: JsonObject = { $ref: 'meta.v1.ObjectMeta' }

function withMetadata(schema: JsonObject): { [name: string]: JsonObject } {
  return { ...propertiesOf(schema), apiVersion: text, kind: text, metadata }
}

function isEmbedded(schema: JsonObject): boolean {
  return schema['x-kubernetes-embedded-resource'] === true
}

function propertiesOf({ properties }: JsonObject): { [name: string]: JsonObject } {
  return isPlainObject(properties) ? (properties as { [name: string]: JsonObject }) : {}
}

/** Undefined for an atomic list. */
function listKeys(schema: JsonObject): readonly string[] | undefined {
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return []
    case 'map':
      return (schema['x-kubernetes-list-map-keys'] ?? []) as string[]
    case undefined:
      break
    default:
      return undefined
  }
  const strategy = schema['x-kubernetes-patch-strategy']
  if (strategy !== 'merge' && strategy !== 'merge,retainKeys') return undefined
  const key = schema['x-kubernetes-patch-merge-key']
  return typeof key === 'string' ? [key] : []
}

function defaultsOf(keys: readonly string[], properties: { [name: string]: JsonObject }): ReadonlyMap<string, Json> {
  const found = keys.map((key): [string, Json] => [key, properties[key]?.['default'] ?? null])
  return new Map(found.filter(([, value]) => value !== null))
}
