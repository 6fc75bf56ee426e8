/** Interprets a value by its field type: its form, and the path elements of its items. */
import { isPlainObject, type Json } from '../../util/json/json.ts'
import type { FieldType, ListType } from './field-types.ts'
import { keyElement, valueElement } from './path-elements.ts'

export type Form = 'map' | 'scalar' | 'list'

export type ReadonlyJsonObject = { readonly [key: string]: Json }

/** A value that may be absent. */
export type OptionalJson = Json | undefined

/** A value that its type does not allow. The path is prepended while the error propagates. */
export class FieldTypeError extends Error {}

/** The only form that the type allows; otherwise the form of the value, and for null the first allowed form. */
export function formOf(type: FieldType, value: Json | undefined): Form {
  if (type.scalar === undefined) return type.map === undefined ? 'list' : 'map'
  if (type.map === undefined && type.list === undefined) return 'scalar'
  if (value === undefined || value === null) return type.map === undefined ? 'scalar' : 'map'
  if (Array.isArray(value)) return 'list'
  return typeof value === 'object' ? 'map' : 'scalar'
}

export function asMap(value: Json | undefined): { [key: string]: Json } | undefined {
  return isPlainObject(value) ? value : undefined
}

export function asList(value: Json | undefined): Json[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** The path element that identifies an item. */
export function elementOfItem({ keys, defaults }: ListType, item: Json): string {
  return keys.length === 0 ? elementInSet(item) : elementByKeys(keys, defaults, item)
}

function elementByKeys(keys: readonly string[], defaults: ListType['defaults'], item: Json): string {
  if (item === null) throw new FieldTypeError('associative list with keys may not have a null element')
  if (!isPlainObject(item)) throw new FieldTypeError('associative list with keys may not have non-map elements')
  const found: Array<[string, Json]> = []
  for (const key of keys) {
    const value = Object.hasOwn(item, key) ? item[key] : defaults.get(key)
    if (value !== undefined) found.push([key, value])
  }
  if (found.length > 0) return keyElement(found)
  const names = keys.map((key) => JSON.stringify(key)).join(' ')
  throw new FieldTypeError(
    `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  )
}

function elementInSet(item: Json): string {
  if (item === null) {
    throw new FieldTypeError("associative list without keys has an element that's an explicit null")
  }
  if (Array.isArray(item)) throw new FieldTypeError('not supported: associative list with lists as elements')
  if (typeof item === 'object') {
    throw new FieldTypeError("associative list without keys has an element that's a map type")
  }
  return valueElement(item)
}
