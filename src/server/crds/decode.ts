/**
 * Decodes a client's CustomResourceDefinition like the real server's typed decoder: unknown fields are dropped and reported,
 * the first type mismatch is an error with Go's message, and the fields come out in Go's order. Called by crd-resource.ts,
 * which then applies defaults.
 */
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import { isPlainObject, setOwn } from '../../util/json/json.ts'
import { parseBase64 } from '../builtins/base64.ts'
import { parseTime } from '../builtins/timestamps.ts'
import { quote } from '../field-errors.ts'
import type { Decoded } from '../resource.ts'
import { badRequest } from '../status.ts'
import { type CrdField, type CrdFieldType, crdShape, schemaShape } from './shapes.ts'

/** Deeper than any useful schema. The limit protects the recursive walks over schemas from a stack overflow. */
const maxDepth = 1000

/** The real decoder reports at most this many problems. */
const maxProblems = 100

export function decodeCrd(body: KubeObject): Decoded {
  const decoder = new CrdDecoder()
  const { metadata, ...rest } = body
  try {
    const { apiVersion, kind, ...fields } = decoder.root(crdShape, rest as JsonObject)
    if (decoder.failure !== undefined) throw new CrdDecodeError(decoder.failure)
    return { object: { kind, apiVersion, metadata, ...fields } as unknown as KubeObject, problems: decoder.problems }
  } catch (error) {
    if (!(error instanceof CrdDecodeError)) throw error
    const kind = 'CustomResourceDefinition'
    throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${error.message}`)
  }
}

class CrdDecodeError extends Error {}

/** Current position: for type errors (struct and field path) and for unknown fields (full path). */
interface DecodePosition {
  readonly struct: string
  readonly fields: string
  readonly path: string
  readonly depth: number
}

type Struct = CrdFieldType & { kind: 'struct' }

class CrdDecoder {
  readonly problems: string[] = []
  /** The first type mismatch. It does not stop Go's decoder and is reported at the end. */
  failure: string | undefined
  #isStrict = true

  root(shape: CrdFieldType, value: JsonObject): JsonObject {
    return this.#struct(shape as Struct, value, { struct: '', fields: '', path: '', depth: 0 })!
  }

  /** Undefined for null and for values of a wrong type. */
  #value(shape: CrdFieldType, value: Json, place: DecodePosition): Json | undefined {
    if (place.depth > maxDepth) throw new CrdDecodeError('exceeded max depth')
    switch (shape.kind) {
      case 'struct':
        return this.#struct(shape, value, place)
      case 'list':
        return this.#list(shape.of, shape.go, value, place)
      case 'map':
        return this.#map(shape.of, shape.go, value, place)
      case 'schemaOrBool':
      case 'schemaOrList':
      case 'schemaOrNames':
        return this.#alternative(shape.kind, value, place)
      default:
        return value === null ? undefined : this.#scalar(shape, value, place)
    }
  }

  #struct(shape: Struct, value: Json, place: DecodePosition): JsonObject | undefined {
    if (value === null) return undefined
    if (!isPlainObject(value)) return this.#mismatch(value, shape.go, place)
    const decoded = this.#fields(shape, value, place)
    const result: JsonObject = {}
    for (const field of shape.fields()) {
      const child = decoded.get(field.name)
      const written = child === undefined || isEmpty(child, field) ? absentValue(field) : child
      if (written !== undefined) result[field.name] = written
    }
    return result
  }

  /** In the client's order, so that the first reported problem is the first one in the body. */
  #fields(shape: Struct, value: JsonObject, place: DecodePosition): Map<string, Json> {
    const fields = shape.fields()
    const decoded = new Map<string, Json>()
    for (const key of Object.keys(value)) {
      const field = fields.find(({ name }) => name === key)
      if (!field) {
        this.#unknown(place.path === '' ? key : `${place.path}.${key}`)
        continue
      }
      const child = this.#value(field.shape, value[key]!, this.#inside(shape, key, place))
      if (child !== undefined) decoded.set(key, child)
    }
    return decoded
  }

  #inside(shape: Struct, name: string, { fields, path, depth }: DecodePosition): DecodePosition {
    const struct = shape.go.replace(/^v1\./, '')
    return {
      struct,
      fields: fields === '' ? name : `${fields}.${name}`,
      path: path === '' ? name : `${path}.${name}`,
      depth: depth + 1,
    }
  }

  #unknown(path: string): void {
    if (this.#isStrict && this.problems.length < maxProblems) this.problems.push(`unknown field ${quote(path)}`)
  }

  #list(of: CrdFieldType, go: string, value: Json, place: DecodePosition): Json[] | undefined {
    if (value === null) return undefined
    if (!Array.isArray(value)) return this.#mismatch(value, go, place)
    return value.map((item, index) => {
      const inside = { ...place, path: `${place.path}[${index}]`, depth: place.depth + 1 }
      return this.#value(of, item, inside) ?? zeroOf(of)
    })
  }

  /** Keys are sorted, as Go writes maps. */
  #map(of: CrdFieldType, go: string, value: Json, place: DecodePosition): JsonObject | undefined {
    if (value === null) return undefined
    if (!isPlainObject(value)) return this.#mismatch(value, go, place)
    const decoded = Object.keys(value).map((key): [string, Json] => {
      const inside = { ...place, path: `${place.path}.${key}`, depth: place.depth + 1 }
      return [key, this.#value(of, value[key]!, inside) ?? zeroOf(of)]
    })
    const result: JsonObject = {}
    for (const [key, child] of decoded.sort(([left], [right]) => (left < right ? -1 : 1))) setOwn(result, key, child)
    return result
  }

  /** Types with their own UnmarshalJSON. Their inner decoder is not strict, and its first error stops the whole decoding. */
  #alternative(kind: CrdFieldType['kind'], value: Json, place: DecodePosition): Json | undefined {
    if (value === null) return undefined
    if (kind === 'schemaOrBool' && typeof value === 'boolean') return value
    const wasStrict = this.#isStrict
    this.#isStrict = false
    const before = this.failure
    this.failure = undefined
    const result = this.#readAlternative(kind, value, place)
    if (this.failure !== undefined) throw new CrdDecodeError(this.failure)
    this.failure = before
    this.#isStrict = wasStrict
    return result
  }

  #readAlternative(kind: CrdFieldType['kind'], value: Json, place: DecodePosition): Json | undefined {
    if (isPlainObject(value)) return this.#struct(schemaShape as Struct, value, place)
    if (kind === 'schemaOrBool') throw new CrdDecodeError('boolean or JSON schema expected')
    if (!Array.isArray(value)) return undefined
    if (kind === 'schemaOrList') return this.#list(schemaShape, '[]v1.JSONSchemaProps', value, place)
    return this.#list({ kind: 'string', go: 'string' }, '[]string', value, place)
  }

  #scalar(shape: CrdFieldType, value: Json, place: DecodePosition): Json | undefined {
    switch (shape.kind) {
      case 'string':
        return typeof value === 'string' ? value : this.#mismatch(value, shape.go, place)
      case 'bool':
        return typeof value === 'boolean' ? value : this.#mismatch(value, shape.go, place)
      case 'float64':
        return typeof value === 'number' ? value : this.#mismatch(value, shape.go, place)
      case 'int32':
      case 'int64':
        return this.#integer(shape.kind === 'int32' ? 2 ** 31 : 2 ** 63, value, shape.go, place)
      case 'bytes':
        return this.#bytes(value, shape.go, place)
      case 'time':
        return readTime(value)
      default:
        return cloneJson(value)
    }
  }

  #integer(limit: number, value: Json, go: string, place: DecodePosition): number | undefined {
    if (typeof value !== 'number') return this.#mismatch(value, go, place)
    if (Number.isInteger(value) && value >= -limit && value < limit) return value
    return this.#fail(`number ${value}`, go, place)
  }

  #bytes(value: Json, go: string, place: DecodePosition): string | undefined {
    if (typeof value !== 'string') return this.#mismatch(value, go, place)
    const parsed = parseBase64(value)
    if ('text' in parsed) return parsed.text
    this.failure ??= parsed.error
    return undefined
  }

  #mismatch(value: Json, go: string, place: DecodePosition): undefined {
    const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
    return this.#fail(type, go, place)
  }

  #fail(what: string, go: string, { struct, fields }: DecodePosition): undefined {
    this.failure ??= `json: cannot unmarshal ${what} into Go struct field ${struct}.${fields} of type ${go}`
    return undefined
  }
}

function readTime(value: Json): string {
  if (typeof value !== 'string')
    throw new CrdDecodeError(`json: cannot unmarshal ${typeof value} into Go value of type string`)
  const parsed = parseTime(value, false)
  if ('error' in parsed) throw new CrdDecodeError(parsed.error)
  return parsed.text
}

/** Implements `omitempty` for fields that are not pointers. */
function isEmpty(value: Json, { optional, pointer, shape }: CrdField): boolean {
  if (!optional || pointer || shape.kind === 'struct') return false
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === '' || value === false || value === 0
}

function absentValue({ optional, shape }: CrdField): Json | undefined {
  return optional ? undefined : zeroOf(shape)
}

function zeroOf(shape: CrdFieldType): Json {
  switch (shape.kind) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'float64':
      return 0
    case 'struct': {
      const fields = shape.fields().filter(({ optional }) => !optional)
      return Object.fromEntries(fields.map((field) => [field.name, zeroOf(field.shape)]))
    }
    default:
      return null
  }
}
