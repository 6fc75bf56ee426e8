/**
 * Elements of field paths in the form of `fieldsV1`: `f:spec` for a field, `k:{"name":"web"}` for a list item by its keys, `v:"x"` for
 * a set item, `i:0` for an item by index. Equal elements have equal text.
 */
import { goJson } from '../../util/json/go-json.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { parseJsonText } from '../../util/json/json-text.ts'
import { quote } from '../field-errors.ts'

/** Keys may come in any order. A missing key differs from any present one. */
export function keyElement(keys: ReadonlyArray<readonly [name: string, value: Json]>): string {
  const sorted = keys.length < 2 ? keys : [...keys].sort(([one], [other]) => (one < other ? -1 : 1))
  return `k:{${sorted.map(([name, value]) => `${toText(name)}:${toText(value)}`).join(',')}}`
}

export function valueElement(value: Json): string {
  return `v:${toText(value)}`
}

/** Most values are plain words and numbers, which need no escaping. */
function toText(value: Json): string {
  if (typeof value === 'string') return /^[\w./:-]*$/.test(value) ? `"${value}"` : goJson(value)
  return Number.isSafeInteger(value) ? String(value) : goJson(value)
}

/** Normalises an element written by a client; undefined for unknown types of elements. */
export function normalizeElement(element: string): string | undefined {
  if (element.length < 2) throw new Error('key must be 2 characters long:')
  if (element[1] !== ':') throw new Error(`missing colon: ${element}`)
  const content = element.slice(2)
  switch (element[0]) {
    case 'f':
      return element
    case 'v':
      return valueElement(parseContent(content))
    case 'k': {
      const keys = parseContent(content)
      if (!isPlainObject(keys)) throw new Error(`expect { or n, but found ${content[0] ?? ''}`)
      return keyElement(Object.entries(keys))
    }
    case 'i':
      if (!/^[+-]?\d+$/.test(content)) throw new Error(`strconv.Atoi: parsing ${quote(content)}: invalid syntax`)
      return `i:${Number(content)}`
    default:
      return undefined
  }
}

function parseContent(text: string): Json {
  return parseJsonText(text) as Json
}

/** The form in messages: `.spec`, `[name="web"]`, `[="x"]`, `[0]`. */
export function printElement(element: string): string {
  const content = element.slice(2)
  switch (element[0]) {
    case 'f':
      return `.${content}`
    case 'k': {
      const keys = Object.entries(parseContent(content) as { [name: string]: Json })
      return `[${keys.map(([name, value]) => `${name}=${printValue(value)}`).join(',')}]`
    }
    case 'v':
      return `[=${printValue(parseContent(content))}]`
    default:
      return `[${content}]`
  }
}

function printValue(value: Json): string {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return `[${value.map(printValue).join(',')}]`
  if (!isPlainObject(value)) return String(value)
  return Object.entries(value)
    .map(([name, child]) => `${name}=${printValue(child)}`)
    .join('')
}

const ranks: Readonly<Record<string, number>> = { '.': 0, f: 1, k: 2, v: 3, i: 4 }

/** Order: fields, items by key, items by value, indices; numbers are compared by value. */
export function compareElements(one: string, other: string): number {
  const kind = one[0]!
  if (kind !== other[0]) return ranks[kind]! - ranks[other[0]!]!
  if (kind === 'f') return one < other ? -1 : 1
  if (one === other) return 0
  if (kind === 'k') return compareKeys(one, other)
  return compareValues(parseContent(one.slice(2)), parseContent(other.slice(2)))
}

function compareKeys(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => Object.entries(parseContent(text.slice(2)) as object))
  for (const [index, [name, value]] of left!.entries()) {
    const [otherName, otherValue] = right![index] ?? []
    if (otherName === undefined) return 1
    if (name !== otherName) return name < otherName ? -1 : 1
    const order = compareValues(value as Json, otherValue as Json)
    if (order !== 0) return order
  }
  return -1
}

const typeRanks: Readonly<Record<string, number>> = { number: 0, bigint: 0, string: 1, boolean: 2, object: 3 }

function compareValues(one: Json, other: Json): number {
  const order = typeRanks[typeof one]! - typeRanks[typeof other]!
  if (order !== 0) return order
  if (typeof one === 'object') return goJson(one) < goJson(other) ? -1 : 1
  if (one === other) return 0
  return one < (other as typeof one) ? -1 : 1
}
