/**
 * Values of an object converted by its schema: strings with a format become typed values, and lists of type map and set get
 * their own equality. Values are converted on access.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { goJson } from '../../util/json/go-json.ts'
import { getOwn, isPlainObject } from '../../util/json/json.ts'
import type { JsonSchema } from '../schema/structural.ts'
import { areListsEqual, isEqual, type OwnEquality } from './equality.ts'
import { escapeField, unescapeField } from './escaping.ts'
import { fail, type Meter, noSuchOverload } from './failures.ts'
import { goQuote } from './library/go-quote.ts'
import { parseGoDuration, parseRfc3339, parseWordyDuration } from './library/go-times.ts'
import { withMeta } from './schema-types.ts'
import { CelDuration, CelList, CelMap, type CelValue } from './values.ts'

export function toCelValue(value: Json | undefined, schema: JsonSchema): CelValue {
  if (value === null || value === undefined) {
    return schema.nullable ? null : fail('invalid data, got null for schema with nullable=false')
  }
  if (schema['x-kubernetes-int-or-string']) return typeof value === 'string' ? value : toInt(value)
  switch (schema.type) {
    case 'object':
      return isPlainObject(value)
        ? new JsonMap(value, schema)
        : fail('invalid data, expected a map for the provided schema with type=object')
    case 'array':
      return Array.isArray(value)
        ? toList(value, schema)
        : fail('invalid data, expected an array for the provided schema with type=array')
    case 'string':
      return typeof value === 'string'
        ? toText(value, schema.format)
        : fail(`invalid data, expected string, got ${goType(value)}`)
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint'
        ? Number(value)
        : fail(`invalid data, expected float, got ${goType(value)}`)
    case 'integer':
      return toInt(value)
    case 'boolean':
      return typeof value === 'boolean' ? value : fail(`invalid data, expected bool, got ${goType(value)}`)
    default:
      return new UnknownValue(value)
  }
}

function goType(value: Json): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

/** Integers that a double cannot represent are already bigints. */
function toInt(value: Json): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  return fail(`invalid data, expected int, got ${goType(value)}`)
}

function toText(text: string, format: string | undefined): CelValue {
  switch (format) {
    case 'duration': {
      const nanos = parseGoDuration(text) ?? parseWordyDuration(text)
      return nanos === undefined ? fail(`Invalid duration ${text}`) : new CelDuration(nanos)
    }
    case 'date': {
      const parsed = parseRfc3339(`${text}T00:00:00Z`)
      return parsed ?? fail(`Invalid date formatted string ${text}`)
    }
    case 'date-time':
      return parseRfc3339(text) ?? fail(`Invalid date-time formatted string ${text}: ${dateTimeProblem(text)}`)
    case 'byte':
      return toBytes(text)
    default:
      return text
  }
}

/** Go's error for the last layout that it tries, which has no time zone. */
function dateTimeProblem(text: string): string {
  const shown = `parsing time ${goQuote(text)}`
  if (text[10] !== 'T') return `${shown} as "2006-01-02T15:04:05": cannot parse ${goQuote(text.slice(10))} as "T"`
  return `${shown}: extra text: ${goQuote(text.slice(19).replace(/^[.,]\d+/, ''))}`
}

/**
 * The format check accepts standard Base64, but Kubernetes decodes it for rules with the URL alphabet, which has no `+` and
 * `/`.
 */
function toBytes(text: string): Uint8Array {
  const wrong = text.search(/[+/]/)
  if (wrong >= 0) fail(`Invalid byte formatted string ${text}: illegal base64 data at input byte ${wrong}`)
  return new Uint8Array(Buffer.from(text, 'base64'))
}

function toList(items: readonly Json[], schema: JsonSchema): CelList {
  const itemSchema = schema.items as JsonSchema
  switch (schema['x-kubernetes-list-type']) {
    case 'map':
      return new MapList(items, itemSchema, schema['x-kubernetes-list-map-keys'] ?? [])
    case 'set':
      return new SetList(items, itemSchema)
    default:
      return new JsonList(items, itemSchema)
  }
}

class JsonList extends CelList {
  readonly json: readonly Json[]
  readonly schema: JsonSchema
  #items: CelValue[] | undefined

  constructor(json: readonly Json[], schema: JsonSchema) {
    super()
    this.json = json
    this.schema = schema
  }

  get size(): number {
    return this.json.length
  }

  at(index: number): CelValue {
    return this.#items ? this.#items[index]! : toCelValue(this.json[index], this.schema)
  }

  toArray(): readonly CelValue[] {
    this.#items ??= this.json.map((item) => toCelValue(item, this.schema))
    return this.#items
  }

  isEqualTo(other: CelValue, meter: Meter): boolean {
    return other instanceof CelList ? areListsEqual(this, other, meter) : noSuchOverload()
  }
}

/** A list of type set: the order is ignored, and `+` is the union. */
class SetList extends JsonList implements OwnEquality {
  override isEqualTo(other: CelValue, meter: Meter): boolean {
    if (!(other instanceof CelList)) return noSuchOverload()
    if (other.size !== this.size) return false
    const own = new Set(this.toArray().map(keyOf))
    meter.work(this.size * 2)
    return other.toArray().every((item) => own.has(keyOf(item)))
  }

  override add(other: CelList): CelList {
    if (!(other instanceof JsonList)) return super.add(other)
    return new SetList([...new Set([...this.json, ...other.json])], this.schema)
  }
}

const keyOf = (value: CelValue): string => `${typeof value}:${String(value)}`

/** A list of type map: items are identified by their keys, and `+` replaces existing items. */
class MapList extends JsonList implements OwnEquality {
  readonly #keys: readonly string[]

  constructor(json: readonly Json[], schema: JsonSchema, keys: readonly string[]) {
    super(json, schema)
    this.#keys = keys
  }

  #keyOf(item: Json | undefined): string {
    return goJson(isPlainObject(item) ? this.#keys.map((key) => getOwn(item, key) ?? null) : item)
  }

  override isEqualTo(other: CelValue, meter: Meter): boolean {
    if (!(other instanceof CelList)) return noSuchOverload()
    if (other.size !== this.size) return false
    if (!(other instanceof JsonList)) return areListsEqual(this, other, meter)
    meter.work(this.size * 4)
    const own = new Map(this.json.map((item, index) => [this.#keyOf(item), index]))
    return other.json.every((item, index) => {
      const found = own.get(this.#keyOf(item))
      return found !== undefined && isEqual(this.at(found), other.at(index), meter)
    })
  }

  override add(other: CelList): CelList {
    if (!(other instanceof JsonList)) return super.add(other)
    const merged = new Map([...this.json, ...other.json].map((item) => [this.#keyOf(item), item]))
    return new MapList([...merged.values()], this.schema, this.#keys)
  }
}

/** An object with fields or a map. In an object, field names are escaped and null fields are absent. */
class JsonMap extends CelMap implements OwnEquality {
  readonly json: JsonObject
  readonly #schema: JsonSchema
  readonly #isObject: boolean

  constructor(json: JsonObject, schema: JsonSchema) {
    super()
    this.json = json
    this.#schema = schema['x-kubernetes-embedded-resource'] ? withMeta(schema) : schema
    this.#isObject = this.#schema.properties !== undefined
  }

  get size(): number {
    return Object.keys(this.json).length
  }

  #schemaOf(field: string): JsonSchema | undefined {
    if (this.#isObject) return getOwn(this.#schema.properties!, field)
    const { additionalProperties } = this.#schema
    return isPlainObject(additionalProperties) ? (additionalProperties as JsonSchema) : undefined
  }

  find(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return noSuchOverload()
    const field = this.#isObject ? unescapeField(key) : key
    const value = field === undefined ? undefined : getOwn(this.json, field)
    if (value === undefined || (this.#isObject && value === null)) return undefined
    const schema = this.#schemaOf(field!)
    return schema && toCelValue(value, schema)
  }

  keys(): readonly CelValue[] {
    const known = Object.keys(this.json).filter((field) => this.#schemaOf(field) !== undefined)
    return this.#isObject ? known.map((field) => escapeField(field) ?? field) : known
  }

  /** Fields unknown to the schema are compared as raw JSON if both objects have them. */
  isEqualTo(other: CelValue, meter: Meter): boolean {
    if (!(other instanceof CelMap)) return noSuchOverload()
    if (other.size !== this.size) return false
    return Object.keys(this.json).every((field) => {
      meter.work(10)
      if (this.#schemaOf(field) === undefined) {
        const value = other instanceof JsonMap ? getOwn(other.json, field) : undefined
        return value === undefined || isDeepEqual(value, this.json[field])
      }
      const key = this.#isObject ? (escapeField(field) ?? field) : field
      const [own, others] = [this.find(key), other.find(key)]
      if (own === undefined || others === undefined) return own === others
      return isEqual(own, others, meter)
    })
  }
}

/** A value that the schema preserves without a type: it can be compared, and nothing else. */
class UnknownValue extends CelMap implements OwnEquality {
  readonly json: Json
  readonly size = 0

  constructor(json: Json) {
    super()
    this.json = json
  }

  find(): undefined {
    return undefined
  }

  keys(): readonly CelValue[] {
    return []
  }

  isEqualTo(other: CelValue): boolean {
    return other instanceof UnknownValue && isDeepEqual(this.json, other.json)
  }
}
