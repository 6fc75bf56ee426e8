/**
 * Converts the result of a strategic merge patch to the Go types of its kind, like apimachinery's FromUnstructured rather than
 * its JSON decoder: the error messages differ, integers that are too large wrap around, and the first error in the order of
 * Go's fields stops it.
 */
import { cloneJson } from '../../util/json/deep-equal.ts'
import { type Json, setOwn } from '../../util/json/json.ts'
import { quote } from '../field-errors.ts'
import { goKindOf } from '../strategic/go-values.ts'
import { kindOf } from '../strategic/lookup.ts'
import { parseBase64 } from './base64.ts'
import { DecodeError, decodeSpecial, zeroOf } from './decode.ts'
import type { GoFieldType, ScalarTag, Types } from './types.ts'
import { isFields, type ObjectFields } from './values.ts'

export interface UnstructuredResult {
  /** Without unknown fields. */
  readonly object: ObjectFields
  /** Such as `unknown field "spec.nonsense"`; sorted. */
  readonly problems: readonly string[]
}

/** @throws DecodeError */
export function fromUnstructured(types: Types, name: string, value: ObjectFields): UnstructuredResult {
  const converter = new UnstructuredConverter(types)
  const object = converter.struct(name, value, '')
  return { object, problems: converter.problems.sort() }
}

class UnstructuredConverter {
  readonly problems: string[] = []
  readonly #types: Types

  constructor(types: Types) {
    this.#types = types
  }

  struct(name: string, value: unknown, path: string): ObjectFields {
    if (!isFields(value)) throw new DecodeError(`cannot restore struct from: ${goKindOf(value as Json)}`)
    const { fields, byName } = this.#types.struct(name)
    const result: ObjectFields = {}
    for (const field of fields) {
      const given = Object.hasOwn(value, field.name) ? value[field.name] : undefined
      if (given === undefined || given === null) continue
      result[field.name] = this.#value(field.type, given, join(path, field.name))
    }
    for (const key of Object.keys(value)) {
      if (!byName.has(key)) this.problems.push(`unknown field ${quote(join(path, key))}`)
    }
    return result
  }

  #value(type: GoFieldType, value: unknown, path: string): unknown {
    switch (type.tag) {
      case 'struct':
        return this.struct(type.name, value, path)
      case 'list':
        return this.#list(type, value, path)
      case 'map':
        return this.#map(type, value, path)
      case 'bytes':
        return toBytes(value)
      case 'raw':
        return cloneJson(value)
      case 'time':
      case 'microTime':
      case 'quantity':
      case 'intOrString':
        return decodeSpecial(this.#types, type.tag, value)
      default:
        return toScalar(type, value as Json)
    }
  }

  #list(type: GoFieldType & { tag: 'list' | 'map' }, value: unknown, path: string): unknown[] {
    if (!Array.isArray(value)) throw new DecodeError(`cannot restore slice from ${goKindOf(value as Json)}`)
    return value.map((element: unknown, index) => this.#element(type.element, element, `${path}[${index}]`))
  }

  /** Paths do not include map keys. */
  #map(type: GoFieldType & { tag: 'list' | 'map' }, value: unknown, path: string): ObjectFields {
    if (!isFields(value)) throw new DecodeError(`cannot restore map from ${goKindOf(value as Json)}`)
    const result: ObjectFields = {}
    for (const key of Object.keys(value)) setOwn(result, key, this.#element(type.element, value[key], path))
    return result
  }

  #element(type: GoFieldType, value: unknown, path: string): unknown {
    return value === null ? zeroOf(type) : this.#value(type, value, path)
  }
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

function toBytes(value: unknown): string {
  if (typeof value !== 'string') throw new DecodeError(`cannot restore slice from ${goKindOf(value as Json)}`)
  const parsed = parseBase64(value)
  if ('error' in parsed) throw new DecodeError(`error decoding from json: ${parsed.error}`)
  return parsed.text
}

/** Go's conversions between the scalar types of JSON. */
function toScalar(type: GoFieldType & { tag: ScalarTag }, value: Json): Json {
  const [from, to] = [goKindOf(value), kindOf({ type, isPointer: false })]
  if (from === to) return value
  const isInteger = to === 'int32' || to === 'int64'
  if (from === 'int64' && to === 'float64') return value
  if (from === 'int64' && to === 'int32') return (value as number) | 0
  if (from === 'float64' && isInteger && Math.trunc(value as number) === value) return value
  // Go would convert the integer to the character with that code point; apimachinery rejects it.
  if (from === 'int64' && to === 'string') throw new DecodeError(`cannot convert int64 to ${type.goName}`)
  if (from === 'float64' && isInteger) throw new DecodeError(`cannot convert float64 to ${type.goName}`)
  throw new DecodeError(`unrecognized type: ${to}`)
}
