/**
 * JSON texts of bodies, both ways, without loss: integers that a double cannot hold are `bigint` on our side. Whatever
 * reads from or writes to the API, and what is stored on objects, goes through here. Does not recurse.
 */
import { isContainer, setOwn } from './json.ts'

/** What becomes of an integer beyond 2^53. */
type ReadLong = (digits: string) => unknown

/** Written out, and not as `\d{16}`: so the engine skips ahead, and needs a tenth of the time. */
const longDigits = new RegExp('\\d'.repeat(16))

/** As JSON.parse, but integers beyond 2^53 become `bigint`: others write 64-bit ones. Throws SyntaxError. */
export function parseJsonText(text: string, readLong: ReadLong = BigInt): unknown {
  // The native parser does not recurse and is several times as fast; few texts have numbers so long at all.
  if (!hasLongInteger(text)) return JSON.parse(text)
  // For the errors alone: the value is not kept, so that no two values of a large text are in memory at once.
  JSON.parse(text)
  return parseExactly(text, readLong)
}

function hasLongInteger(text: string): boolean {
  return longDigits.test(text) && /(?:^|[[:,\s])-?\d{16,}(?=[\s,\]}]|$)/.test(text)
}

type Target = unknown[] | { [key: string]: unknown }

/** The slow way, for a text that is known to be JSON. */
function parseExactly(text: string, readLong: ReadLong): unknown {
  const root: unknown[] = []
  const open: Target[] = [root]
  let key: string | undefined
  let position = 0
  while (position < text.length) {
    const character = text[position]!
    const start = position
    position += 1
    if (character === '}' || character === ']') {
      open.pop()
    } else if (character === '{' || character === '[') {
      const container: Target = character === '{' ? {} : []
      key = put(open.at(-1)!, key, container)
      open.push(container)
    } else if (character === '"') {
      position = endOfString(text, start)
      const string = readString(text, start, position)
      const target = open.at(-1)!
      // A string is a key exactly where an object waits for one.
      if (key === undefined && !Array.isArray(target)) key = string
      else key = put(target, key, string)
    } else if (!' \t\r\n,:'.includes(character)) {
      while (position < text.length && !' \t\r\n,]}'.includes(text[position]!)) position += 1
      key = put(open.at(-1)!, key, readScalar(text.slice(start, position), readLong))
    }
  }
  return root[0]
}

/** Puts a value in its place, and forgets the key. */
function put(target: Target, key: string | undefined, value: unknown): undefined {
  if (Array.isArray(target)) target.push(value)
  else setOwn(target, key!, value)
}

function readString(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1)
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner
}

function readScalar(token: string, readLong: ReadLong): unknown {
  if (token.length < 16 || !/^-?\d+$/.test(token)) return JSON.parse(token)
  const number = Number(token)
  return Number.isSafeInteger(number) ? number : readLong(token)
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text[end - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return end + 1
  }
  return text.length
}

/** As JSON.stringify, but a `bigint` is written as an integer, depth does not matter, and nothing at all is `null`. */
export function toJsonText(value: unknown): string {
  // Programs that teach JSON.stringify to write bigints mostly make strings of them, which nobody else takes for numbers.
  if ('toJSON' in BigInt.prototype) return writeExactly(value)
  try {
    return JSON.stringify(value) ?? 'null'
  } catch (error) {
    // A bigint, a depth that was too much for the stack, or a circle: the last is refused there too.
    if (error instanceof TypeError || error instanceof RangeError) return writeExactly(value)
    throw error
  }
}

/**
 * Whether the text of a value is certainly longer. Found out without writing the text, and without looking at more of the value than
 * is needed. False says nothing: numbers, for example, count as one character.
 */
export function isLongerAsText(root: unknown, maxLength: number): boolean {
  let left = maxLength
  const pending = [root]
  for (; pending.length > 0 && left >= 0; left -= 1) {
    const value = pending.pop()
    if (typeof value === 'string') left -= value.length
    if (!isContainer(value)) continue
    const inner = Array.isArray(value) ? value : Object.values(value)
    // Of a list that is too long by itself, the items do not matter.
    if (inner.length > left) return true
    if (!Array.isArray(value)) for (const key of Object.keys(value)) left -= key.length
    for (const one of inner) pending.push(one)
  }
  return left < 0
}

/** The same in nothing but ASCII, as Python's `json.dumps` writes it: `ü` is `\u00fc`, and surrogates are escaped one by one. */
export function toAsciiJsonText(value: unknown): string {
  return toJsonText(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

interface Frame {
  readonly container: object
  readonly values: readonly unknown[]
  /** Undefined for a list. */
  readonly keys: readonly string[] | undefined
  index: number
  /** What precedes the next value: nothing, or a comma. */
  separator: '' | ','
}

/** The slow way: the containers that are still open are on a pile of our own. */
function writeExactly(root: unknown): string {
  const parts: string[] = []
  const frames: Frame[] = []
  const open = new Set<object>()
  writeValue(root, '', parts, frames, open)
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    const index = frame.index
    if (index >= frame.values.length) {
      parts.push(frame.keys === undefined ? ']' : '}')
      open.delete(frame.container)
      frames.pop()
      continue
    }
    frame.index += 1
    const value = toPlain(frame.values[index], frame.keys?.[index] ?? String(index))
    if (value === undefined && frame.keys !== undefined) continue
    const label = frame.keys === undefined ? '' : `${JSON.stringify(frame.keys[index])}:`
    writeValue(value, frame.separator + label, parts, frames, open)
    frame.separator = ','
  }
  return parts.join('')
}

function writeValue(given: unknown, before: string, parts: string[], frames: Frame[], open: Set<object>): void {
  const value = frames.length === 0 ? toPlain(given, '') : given
  if (typeof value !== 'object' || value === null) {
    parts.push(before, typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null'))
    return
  }
  if (open.has(value)) throw new TypeError('Cannot write a value as JSON: it contains itself')
  open.add(value)
  const keys = Array.isArray(value) ? undefined : Object.keys(value)
  parts.push(before, keys === undefined ? '[' : '{')
  const values = keys === undefined ? (value as unknown[]) : Object.values(value)
  frames.push({ container: value, values, keys, index: 0, separator: '' })
}

/** What JSON makes of a value before it is written: dates become strings, functions and symbols nothing. */
function toPlain(value: unknown, key: string): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { toJSON?: unknown }
  const plain: unknown = typeof toJSON === 'function' ? toJSON.call(value, key) : value
  return typeof plain === 'function' || typeof plain === 'symbol' ? undefined : plain
}
