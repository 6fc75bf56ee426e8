/**
 * Writes an object of a built-in kind the way Go's encoder does: fields in the order of the struct, maps sorted, what is
 * empty left out where the tag says so and written as `{}`, `null` or `""` where it does not.
 * Called by strategy.ts after everything that changes an object.
 */

import { setOwn } from '../../util/json.ts'
import { zeroOf } from './decode.ts'
import type { GoField, GoType, Types } from './types.ts'
import { type Fields, isFields } from './values.ts'

export function encodeStruct(types: Types, name: string, value: unknown): Fields {
  const source = isFields(value) ? value : {}
  const result: Fields = {}
  for (const field of types.struct(name).fields) {
    const encoded = encodeField(types, field, source[field.name] ?? undefined)
    if (encoded !== undefined) result[field.name] = encoded
  }
  return result
}

/** Undefined: the field is not written. */
function encodeField(types: Types, field: GoField, value: unknown): unknown {
  if (value === undefined && field.pointer) return field.omitEmpty ? undefined : null
  if (!field.pointer && field.omitEmpty && isOmitted(field, value)) return undefined
  return encodeValue(types, field.type, value)
}

/** Structs are never empty for Go's encoder, and a timestamp is a struct: it needs the other tag to be left out. */
function isOmitted(field: GoField, value: unknown): boolean {
  switch (field.type.tag) {
    case 'struct':
    case 'quantity':
    case 'intOrString':
      return false
    case 'time':
    case 'microTime':
    case 'raw':
      return field.omitZero && value === undefined
    case 'list':
      return !Array.isArray(value) || value.length === 0
    case 'map':
      return !isFields(value) || Object.keys(value).length === 0
    default:
      return value === undefined || value === '' || value === 0 || value === false
  }
}

function encodeValue(types: Types, type: GoType, value: unknown): unknown {
  if (type.tag === 'struct') return encodeStruct(types, type.name, value)
  if (value === undefined || value === null) return zeroOf(type)
  // Stored as a protocol buffer, an empty list is none.
  if (type.tag === 'list' && (value as unknown[]).length === 0) return null
  if (type.tag === 'list') return (value as unknown[]).map((element) => encodeValue(types, type.element, element))
  if (type.tag !== 'map') return value
  const result: Fields = {}
  for (const key of Object.keys(value).sort())
    setOwn(result, key, encodeValue(types, type.element, (value as Fields)[key]))
  return result
}
