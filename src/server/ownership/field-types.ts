/**
 * What ownership needs to know of a kind: which of its lists and maps are owned item by item, and which as a whole. Made of
 * OpenAPI schemas (of CRDs, or of the built-in definitions) as the real server makes its own.
 */
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json.ts'

type Scalar = 'string' | 'number' | 'boolean' | 'any'

/** What a value may be; more than one only where the schema does not say. */
export interface FieldType {
  readonly scalar: Scalar | undefined
  readonly list: ListType | undefined
  readonly map: MapType | undefined
}

export interface ListType {
  readonly isAtomic: boolean
  /** What tells items apart; none for a set, where the items themselves do. */
  readonly keys: readonly string[]
  /** Of keys that may be left out. */
  readonly defaults: ReadonlyMap<string, Json>
  readonly element: FieldType
}

export interface MapType {
  readonly isAtomic: boolean
  readonly fields: ReadonlyMap<string, FieldType>
  /** Of all that is not a field of its own; undefined where nothing else may be there. */
  readonly element: FieldType | undefined
  /** Nothing is known of it. */
  readonly isFree: boolean
}

type Growing<T> = { -readonly [K in keyof T]: T[K] }

export type Definitions = Readonly<Record<string, JsonObject>>

/** Owned as a whole, whatever it is. */
const opaque: Growing<FieldType> = { scalar: 'any', list: undefined, map: undefined }
opaque.list = { isAtomic: true, keys: [], defaults: new Map(), element: opaque }
opaque.map = { isAtomic: true, fields: new Map(), element: opaque, isFree: false }

/** Whatever it is, maps are owned field by field, lists as a whole. */
const deduced: Growing<FieldType> = { scalar: 'any', list: opaque.list, map: undefined }
deduced.map = { isAtomic: false, fields: new Map(), element: deduced, isFree: true }

/** Whether the type accepts every value: nothing below the value needs to be looked at. */
export function fitsAnything(type: FieldType): boolean {
  return type === deduced || type === opaque
}

const scalarType = (scalar: Scalar): FieldType => ({ scalar, list: undefined, map: undefined })
const anyScalar = scalarType('any')
const scalars: Readonly<Record<string, FieldType>> = {
  string: scalarType('string'),
  number: scalarType('number'),
  integer: scalarType('number'),
  boolean: scalarType('boolean'),
}

export class FieldTypes {
  readonly #definitions: () => Definitions
  readonly #named = new Map<string, FieldType>()

  /** The definitions are asked for when a type is first needed. */
  constructor(definitions: () => Definitions) {
    this.#definitions = definitions
  }

  /** By the name of a definition: `core.v1.Pod`. */
  named(name: string): FieldType {
    if (name === 'resource.Quantity') return anyScalar
    if (name === 'runtime.RawExtension') return opaque
    const known = this.#named.get(name)
    if (known !== undefined) return known
    // Known before it is made: schemas of schemas contain themselves.
    const type: Growing<FieldType> = { scalar: undefined, list: undefined, map: undefined }
    this.#named.set(name, type)
    Object.assign(type, this.#inline(this.#definitions()[name] ?? {}, false))
    return type
  }

  /** Of a CRD's schema: the fields that all objects have are those that all objects have. */
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

  /** `isOpen`: a schema around it keeps what it does not know, and so do all below. */
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

/** Undefined for a list that is owned as a whole. */
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
