/**
 * Decodes a client's JSON into a built-in kind as Go's decoder does: unknown fields are dropped and reported, the first value
 * of a wrong type fails the whole body, and null equals absent. Values come out in the API's canonical form. Called by
 * strategy.ts; knows types, not kinds.
 */

import { parseQuantity } from '../../kube/quantities.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import { setOwn } from '../../util/json/json.ts'
import { quote } from '../field-errors.ts'
import { parseBase64 } from './base64.ts'
import { parseTime } from './timestamps.ts'
import type { GoFieldType, ScalarTag, Types } from './types.ts'
import { isFields, type ObjectFields } from './values.ts'

/** Go's message about a body that does not fit the type. */
export class DecodeError extends Error {}

/** The real decoder reports at most this many problems. */
const maxProblems = 100

const zeros: { readonly [tag in ScalarTag | 'list' | 'map']: () => unknown } = {
  string: () => '',
  bool: () => false,
  int32: () => 0,
  int64: () => 0,
  float: () => 0,
  bytes: () => '',
  time: () => null,
  microTime: () => null,
  quantity: () => '0',
  intOrString: () => 0,
  raw: () => null,
  list: () => null,
  map: () => null,
}

/** Go's zero value as the API writes it. */
export function zeroOf(type: GoFieldType): unknown {
  return type.tag === 'struct' ? {} : zeros[type.tag]()
}

/** @throws DecodeError */
export function decodeStruct(types: Types, name: string, body: unknown): { object: ObjectFields; problems: string[] } {
  const decoder = new StructDecoder(types)
  const struct = types.struct(name)
  const object = decoder.struct(name, `v1.${struct.goName}`, body) ?? {}
  if (decoder.failure !== undefined) throw new DecodeError(decoder.failure)
  return { object, problems: decoder.problems }
}

/** Decodes a single value of a type with its own UnmarshalJSON. @throws DecodeError */
export function decodeSpecial(types: Types, tag: SpecialTag, value: unknown): unknown {
  return new StructDecoder(types).special(tag, value)
}

type SpecialTag = 'time' | 'microTime' | 'quantity' | 'intOrString'

class StructDecoder {
  readonly problems: string[] = []
  /** The first type mismatch, which does not stop Go's decoder. An error that does stop it is thrown and takes precedence. */
  failure: string | undefined
  readonly #types: Types
  /** Struct name and field path of the current value, as type errors print them: without list positions and map keys. */
  #struct = ''
  #stack: readonly string[] = []
  /** Path of the current value for unknown-field problems: with list positions and map keys. */
  #path = ''

  constructor(types: Types) {
    this.#types = types
  }

  struct(name: string, goName: string, value: unknown): ObjectFields | undefined {
    if (!isFields(value)) return this.#mismatch(value, goName)
    const struct = this.#types.struct(name)
    const result: ObjectFields = {}
    const [outerStruct, outerStack, outerPath] = [this.#struct, this.#stack, this.#path]
    for (const key of Object.keys(value)) {
      const field = struct.byName.get(key)
      const path = outerPath === '' ? key : `${outerPath}.${key}`
      if (!field) {
        this.#unknown(path)
        continue
      }
      this.#struct = struct.goName
      this.#stack = [...outerStack, ...field.inlinedFrom, key]
      this.#path = path
      const decoded = this.#value(field.type, value[key])
      if (decoded !== undefined) result[key] = decoded
    }
    this.#struct = outerStruct
    this.#stack = outerStack
    this.#path = outerPath
    return result
  }

  #unknown(path: string): void {
    const problem = `unknown field ${quote(path)}`
    if (this.problems.length < maxProblems && !this.problems.includes(problem)) this.problems.push(problem)
  }

  #value(type: GoFieldType, value: unknown): unknown {
    if (value === null || value === undefined) return undefined
    if (type.tag === 'struct') return this.struct(type.name, type.goName, value)
    if (type.tag === 'list') return this.#list(type, value)
    if (type.tag === 'map') return this.#map(type, value)
    return this.#scalar(type.tag, type.goName, value)
  }

  #list(type: GoFieldType & { tag: 'list' | 'map' }, value: unknown): unknown[] | undefined {
    if (!Array.isArray(value)) return this.#mismatch(value, type.goName)
    const path = this.#path
    const result = value.map((element, index) => {
      this.#path = `${path}[${index}]`
      return this.#value(type.element, element) ?? zeroOf(type.element)
    })
    this.#path = path
    return result
  }

  #map(type: GoFieldType & { tag: 'list' | 'map' }, value: unknown): ObjectFields | undefined {
    if (!isFields(value)) return this.#mismatch(value, type.goName)
    const path = this.#path
    const result: ObjectFields = {}
    for (const key of Object.keys(value)) {
      this.#path = path === '' ? key : `${path}.${key}`
      setOwn(result, key, this.#value(type.element, value[key]) ?? zeroOf(type.element))
    }
    this.#path = path
    return result
  }

  #scalar(tag: ScalarTag, goName: string, value: unknown): unknown {
    switch (tag) {
      case 'string':
        return typeof value === 'string' ? value : this.#mismatch(value, goName)
      case 'bool':
        return typeof value === 'boolean' ? value : this.#mismatch(value, goName)
      case 'float':
        return typeof value === 'number' ? value : this.#mismatch(value, goName)
      case 'int32':
      case 'int64':
        return this.#integer(value, tag, goName)
      case 'bytes':
        return this.#bytes(value, goName)
      case 'raw':
        return cloneJson(value)
      default:
        return this.special(tag, value)
    }
  }

  #integer(value: unknown, tag: 'int32' | 'int64', goName: string): number | undefined {
    if (typeof value !== 'number') return this.#mismatch(value, goName)
    const limit = tag === 'int32' ? 2 ** 31 : 2 ** 63
    if (Number.isInteger(value) && value >= -limit && value < limit) return value
    return this.#fail(`json: cannot unmarshal number ${value}${this.#where()} of type ${goName}`)
  }

  #bytes(value: unknown, goName: string): string | undefined {
    if (typeof value !== 'string') return this.#mismatch(value, goName)
    const parsed = parseBase64(value)
    return 'error' in parsed ? this.#fail(parsed.error) : parsed.text
  }

  /** Types with their own UnmarshalJSON. Their errors stop the decoding at once. */
  special(tag: SpecialTag, value: unknown): unknown {
    if (tag === 'quantity') {
      const parsed = parseQuantity(
        typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '',
      )
      if (typeof parsed === 'string') throw new DecodeError(parsed)
      return parsed.text
    }
    if (tag === 'intOrString') {
      if (typeof value === 'string') return value
      const before = this.failure
      const number = this.#integer(value, 'int32', 'int32')
      if (number === undefined)
        throw new DecodeError(before === this.failure ? this.#mismatchText(value, 'int32') : this.failure)
      return number
    }
    if (typeof value !== 'string') throw new DecodeError(this.#mismatchText(value, 'string'))
    const parsed = parseTime(value, tag === 'microTime')
    if ('error' in parsed) throw new DecodeError(parsed.error)
    return parsed.text
  }

  #mismatch(value: unknown, goName: string): undefined {
    return this.#fail(this.#mismatchText(value, goName))
  }

  #mismatchText(value: unknown, goName: string): string {
    return `json: cannot unmarshal ${describe(value)}${this.#where()} of type ${goName}`
  }

  #where(): string {
    return this.#stack.length === 0
      ? ' into Go value'
      : ` into Go struct field ${this.#struct}.${this.#stack.join('.')}`
  }

  #fail(message: string): undefined {
    this.failure ??= message
    return undefined
  }
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}
