/** Validates schemas with `x-kubernetes-list-type`: items of sets must be atomic, and the keys of maps must always be present. */

import { isPlainObject } from '../../util/json/json.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../field-errors.ts'
import type { JsonSchema } from '../schema/structural.ts'
import { printItems } from './go-print.ts'

export function validateListSchema(schema: JsonSchema, path: string): FieldError[] {
  const { 'x-kubernetes-list-type': listType, 'x-kubernetes-list-map-keys': keys = [] } = schema
  const errors = validateType(schema, path)
  if (listType !== undefined && !['atomic', 'set', 'map'].includes(listType)) {
    errors.push(notSupported(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map']))
  }
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty'
    const field = `${path}.x-kubernetes-list-type`
    errors.push(listType === undefined ? required(field, detail) : invalid(field, listType, detail))
  }
  if (listType === 'map') errors.push(...validateMap(schema, keys, path))
  return [...errors, ...validateItems(schema, keys, path)]
}

function validateType(schema: JsonSchema, path: string): FieldError[] {
  const { type = '', 'x-kubernetes-list-type': listType, items } = schema
  if (listType === undefined) return []
  if (type !== 'array') {
    const detail = 'must be array if x-kubernetes-list-type is specified'
    return [type === '' ? required(`${path}.type`, detail) : invalid(`${path}.type`, type, detail)]
  }
  if (listType !== 'set' || !isPlainObject(items)) return []
  const item = items as JsonSchema
  const itemList = item['x-kubernetes-list-type']
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  if (item.type === 'array' && itemList !== undefined && itemList !== 'atomic') {
    return [invalid(`${path}.items.x-kubernetes-list-type`, itemList, detail)]
  }
  if (item.type === 'object' && item['x-kubernetes-map-type'] !== 'atomic') {
    // The real server prints the list type of the item here instead of the map type; it is usually absent.
    return [invalid(`${path}.items.x-kubernetes-map-type`, itemList ?? null, detail)]
  }
  return []
}

function validateMap(schema: JsonSchema, keys: readonly string[], path: string): FieldError[] {
  const { items } = schema
  const errors: FieldError[] = []
  if (keys.length === 0) {
    const detail = 'must not be empty if x-kubernetes-list-type is map'
    errors.push(required(`${path}.x-kubernetes-list-map-keys`, detail))
  }
  if (items === undefined) {
    return [...errors, required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map')]
  }
  if (Array.isArray(items)) {
    const detail = 'must only have a single schema if x-kubernetes-list-type is map'
    const body = `Invalid value: ${printItems(items)}: ${detail}`
    return [...errors, { type: 'FieldValueInvalid', field: `${path}.items`, body }]
  }
  if (items.type !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map"
    return [...errors, invalid(`${path}.items.type`, items.type ?? '', detail)]
  }
  return [...errors, ...validateKeys(items, keys, path)]
}

function validateKeys(items: JsonSchema, keys: readonly string[], path: string): FieldError[] {
  const field = `${path}.x-kubernetes-list-map-keys`
  return keys.flatMap((key, index) => {
    const errors: FieldError[] = []
    const property = propertyOf(items, key)
    if (!property) {
      errors.push(invalid(field, keys, 'entries must all be names of item properties'))
    } else if (property.type === 'array' || property.type === 'object') {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
      errors.push(invalid(`${path}.items.properties[${key}].type`, items.type, detail))
    }
    if (keys.indexOf(key) < index) errors.push(invalid(field, keys, 'must not contain duplicate entries'))
    return errors
  })
}

function validateItems(schema: JsonSchema, keys: readonly string[], path: string): FieldError[] {
  const { items, 'x-kubernetes-list-type': listType } = schema
  if (!isPlainObject(items) || (listType !== 'set' && listType !== 'map')) return []
  const item = items as JsonSchema
  const errors: FieldError[] = []
  if (item.nullable) {
    errors.push(forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`))
  }
  if (listType === 'set') return errors
  const reason = 'this property is in x-kubernetes-list-map-keys, so it'
  for (const key of keys) {
    const property = propertyOf(item, key)
    if (!property) continue
    const field = `${path}.items.properties[${key}]`
    if (!item.required?.includes(key) && property.default === undefined) {
      errors.push(required(`${field}.default`, `${reason} must have a default or be a required property`))
    }
    if (property.nullable) errors.push(forbidden(`${field}.nullable`, `${reason} cannot be nullable`))
  }
  return errors
}

function propertyOf({ properties }: JsonSchema, name: string): JsonSchema | undefined {
  return properties && Object.hasOwn(properties, name) ? properties[name] : undefined
}
