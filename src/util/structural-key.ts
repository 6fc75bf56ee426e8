/** Keys for maps that compare by value: two arrays or objects that say the same are one key. */
import { KopfError } from '../errors.ts'
import { hasPlainPrototype } from './json.ts'

/** Begins the text of containers: no label, name or other text that people use begins so. */
const mark = '\u0000'

/** Keys may be made of what strangers have written: neither its depth nor a circle in it costs us the stack. */
const deepest = 64

/** Scalars are their own keys, so that most keys cost nothing; what is made of parts becomes text. */
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
      return refuse(`a ${typeof value} is part of it, and cannot be compared by value`)
    default:
      return typeof value === 'object' && value !== null ? containerText(value, depth) : String(value)
  }
}

function containerText(value: object, depth: number): string {
  if (depth > deepest) return refuse(`it has more than ${deepest} levels, or contains itself`)
  if (Array.isArray(value)) return arrayText(value, depth)
  if (value instanceof Date) return `D${value.getTime()}`
  // Others may keep inside what cannot be seen from here, and two that differ would become one key.
  if (!hasPlainPrototype(value)) return refuse(`a ${value.constructor?.name ?? 'class'} is not compared by value`)
  const fields = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(fields).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${toText(fields[key], depth + 1)}`).join()}}`
}

/** Pairs and the like are made into text at every lookup: a loop is twice as fast as mapping and joining. */
function arrayText(items: readonly unknown[], depth: number): string {
  let text = '['
  for (let index = 0; index < items.length; index += 1) text += `${toText(items[index], depth + 1)},`
  return `${text}]`
}

function refuse(why: string): never {
  throw new KopfError(
    'KOPF_INDEX_KEY',
    `Cannot use this as the key of an index: ${why}; make the key of strings, numbers, dates, arrays and plain objects`,
  )
}
