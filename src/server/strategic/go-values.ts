/** JSON values as Go types and prints them, for messages with a type name or a value in `%v`. */
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { type Recursion, runRecursion } from '../../util/recursion.ts'

/** The Go type of a JSON value; undefined for null. */
export function goTypeOf(value: Json): string | undefined {
  if (value === null) return undefined
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'object') return 'map[string]interface {}'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? 'int64' : 'float64'
}

/** The name of its kind in Go's `reflect`. */
export function goKindOf(value: Json): string {
  if (Array.isArray(value)) return 'slice'
  return isPlainObject(value) ? 'map' : (goTypeOf(value) ?? 'nil')
}

/** Go's `%v`. */
export function printGo(value: Json): string {
  return runRecursion(printNested(value, printScalar))
}

function printScalar(value: Json): string {
  if (value === null) return '<nil>'
  return typeof value === 'number' ? printNumber(value) : String(value)
}

function* printNested(value: Json, print: (scalar: Json) => string): Recursion<string> {
  if (typeof value !== 'object' || value === null) return print(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) text += `${index === 0 ? '' : ' '}${yield printNested(item, print)}`
    return `[${text}]`
  }
  for (const key of Object.keys(value).sort()) {
    text += `${text === '' ? '' : ' '}${key}:${yield printNested(value[key]!, print)}`
  }
  return `map[${text}]`
}

/** Go prints exponents with at least two digits. */
function printNumber(value: number): string {
  return String(value).replace(/e([+-])(\d)$/, 'e$10$2')
}

/** Go's `%s`, which marks any value that is not a string. */
export function printGoText(value: Json): string {
  return runRecursion(printNested(value, printText))
}

function printText(value: Json): string {
  if (typeof value === 'string') return value
  return value === null ? '%!s(<nil>)' : `%!s(${goTypeOf(value)}=${printScalar(value)})`
}
