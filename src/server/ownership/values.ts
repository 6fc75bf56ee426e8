/** How a value is looked at by its type: which of the forms that the type allows it has, and what its items are called. */
import { isPlainObject, type Json } from '../../util/json.ts'
import type { FieldType, ListType } from './field-types.ts'
import { keyElement, valueElement } from './path-elements.ts'

export type Form = 'map' | 'scalar' | 'list'

/** Something that its type does not allow. The path grows on the way out. */
export class FieldTypeError extends Error {}

/** Where the type leaves no choice, that one; else what the value is, and the first that is allowed for null. */
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

/** The element of a path by which an item is known. */
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
