/** Keys of indices that compare by value: equal arrays or objects are one key. Used by handlers/index-table.ts. */
import { KopfError } from '../../errors.ts'
import { hasPlainPrototype } from './json.ts'

/** The prefix of the text of containers, which labels, names and ordinary texts do not have. */
const mark = '\u0000'

/** Maximum depth of a key, against stack overflow by deep or cyclic values. */
const maxDepth = 64

/** Scalars are their own keys, which is cheap; arrays and objects become text. */
export function toStructuralKey(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? mark + JSON.stringify(value) : value
  return typeof value === 'object' && value !== null ? mark + containerText(value, 1) : value
}

function toText(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'bigint':
      return `${value}n`
    case 'symbol':
    case 'function':
      return throwNotJson(`a ${typeof value} is part of it, and cannot be compared by value`)
    default:
      return typeof value === 'object' && value !== null ? containerText(value, depth) : String(value)
  }
}

function containerText(value: object, depth: number): string {
  if (depth > maxDepth) return throwNotJson(`it has more than ${maxDepth} levels, or contains itself`)
  if (Array.isArray(value)) return arrayText(value, depth)
  if (value instanceof Date) return `D${value.getTime()}`
  // Instances of other classes may have private state: two different ones would become one key.
  if (!hasPlainPrototype(value)) return throwNotJson(`a ${value.constructor?.name ?? 'class'} is not compared by value`)
  const fields = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(fields).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${toText(fields[key], depth + 1)}`).join()}}`
}

/** Runs at every lookup with an array: a loop is twice as fast as `map` and `join`. */
function arrayText(items: readonly unknown[], depth: number): string {
  let text = '['
  for (let index = 0; index < items.length; index += 1) text += `${toText(items[index], depth + 1)},`
  return `${text}]`
}

function throwNotJson(why: string): never {
  throw new KopfError(
    'KOPF_INDEX_KEY',
    `Cannot use this as the key of an index: ${why}; make the key of strings, numbers, dates, arrays and plain objects`,
  )
}
