/**
 * Encodes an object of a built-in kind like Go's JSON encoder: fields in struct order, maps sorted, empty values omitted for
 * `omitempty` and otherwise written as `{}`, `null` or `""`. Called by strategy.ts after every step that changes an object.
 */

import { setOwn } from '../../util/json/json.ts'
import { zeroOf } from './decode.ts'
import type { GoField, GoFieldType, Types } from './types.ts'
import { isFields, type ObjectFields } from './values.ts'

export function encodeStruct(types: Types, name: string, value: unknown): ObjectFields {
  const source = isFields(value) ? value : {}
  const result: ObjectFields = {}
  for (const field of types.struct(name).fields) {
    const encoded = encodeField(types, field, source[field.name] ?? undefined)
    if (encoded !== undefined) result[field.name] = encoded
  }
  return result
}

/** Undefined if the field is omitted. */
function encodeField(types: Types, field: GoField, value: unknown): unknown {
  if (value === undefined && field.pointer) return field.omitEmpty ? undefined : null
  if (!field.pointer && field.omitEmpty && isOmitted(field, value)) return undefined
  return encodeValue(types, field.type, value)
}

/** Go's encoder never treats a struct as empty, and a timestamp is a struct: only `omitzero` omits it. */
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

function encodeValue(types: Types, type: GoFieldType, value: unknown): unknown {
  if (type.tag === 'struct') return encodeStruct(types, type.name, value)
  if (value === undefined || value === null) return zeroOf(type)
  // The real server stores protocol buffers, in which an empty list and an absent list are the same.
  if (type.tag === 'list' && (value as unknown[]).length === 0) return null
  if (type.tag === 'list') return (value as unknown[]).map((element) => encodeValue(types, type.element, element))
  if (type.tag !== 'map') return value
  const result: ObjectFields = {}
  for (const key of Object.keys(value).sort())
    setOwn(result, key, encodeValue(types, type.element, (value as ObjectFields)[key]))
  return result
}
