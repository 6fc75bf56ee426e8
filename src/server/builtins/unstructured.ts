/**
 * What a strategic merge patch has made, fitted to the Go types of its kind: apimachinery's way from unstructured to typed
 * objects, which is not that of its JSON decoder. Its words for what does not fit are others, integers that are too large
 * wrap around, and the first misfit in the order of Go's fields ends it.
 */
import { cloneJson } from '../../util/equality.ts'
import { type Json, setOwn } from '../../util/json.ts'
import { quote } from '../field-errors.ts'
import { goKindOf } from '../strategic/go-values.ts'
import { kindOf } from '../strategic/lookup.ts'
import { parseBase64 } from './base64.ts'
import { DecodeError, decodeSpecial, zeroOf } from './decode.ts'
import type { GoType, ScalarTag, Types } from './types.ts'
import { type Fields, isFields } from './values.ts'

export interface Converted {
  /** With nothing in it that the type does not know. */
  readonly object: Fields
  /** `unknown field "spec.nonsense"`, sorted. */
  readonly problems: readonly string[]
}

/** @throws DecodeError */
export function fromUnstructured(types: Types, name: string, value: Fields): Converted {
  const converter = new Converter(types)
  const object = converter.struct(name, value, '')
  return { object, problems: converter.problems.sort() }
}

class Converter {
  readonly problems: string[] = []
  readonly #types: Types

  constructor(types: Types) {
    this.#types = types
  }

  struct(name: string, value: unknown, path: string): Fields {
    if (!isFields(value)) throw new DecodeError(`cannot restore struct from: ${goKindOf(value as Json)}`)
    const { fields, byName } = this.#types.struct(name)
    const result: Fields = {}
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

  #value(type: GoType, value: unknown, path: string): unknown {
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

  #list(type: GoType & { tag: 'list' | 'map' }, value: unknown, path: string): unknown[] {
    if (!Array.isArray(value)) throw new DecodeError(`cannot restore slice from ${goKindOf(value as Json)}`)
    return value.map((element: unknown, index) => this.#element(type.element, element, `${path}[${index}]`))
  }

  /** Paths do not show the keys of maps. */
  #map(type: GoType & { tag: 'list' | 'map' }, value: unknown, path: string): Fields {
    if (!isFields(value)) throw new DecodeError(`cannot restore map from ${goKindOf(value as Json)}`)
    const result: Fields = {}
    for (const key of Object.keys(value)) setOwn(result, key, this.#element(type.element, value[key], path))
    return result
  }

  #element(type: GoType, value: unknown, path: string): unknown {
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

/** Go's conversions between scalars, but for those that JSON does not know; from text to text there is nothing to do. */
function toScalar(type: GoType & { tag: ScalarTag }, value: Json): Json {
  const [from, to] = [goKindOf(value), kindOf({ type, isPointer: false })]
  if (from === to) return value
  const isInteger = to === 'int32' || to === 'int64'
  if (from === 'int64' && to === 'float64') return value
  if (from === 'int64' && to === 'int32') return (value as number) | 0
  if (from === 'float64' && isInteger && Math.trunc(value as number) === value) return value
  // A character with that number is what Go would make of it.
  if (from === 'int64' && to === 'string') throw new DecodeError(`cannot convert int64 to ${type.goName}`)
  if (from === 'float64' && isInteger) throw new DecodeError(`cannot convert float64 to ${type.goName}`)
  throw new DecodeError(`unrecognized type: ${to}`)
}
