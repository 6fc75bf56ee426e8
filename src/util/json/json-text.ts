/**
 * Parses and writes JSON without loss: integers beyond the precision of a double become `bigint`. Used for all requests, responses and stored
 * annotations. Does not recurse.
 */
import { isContainer, setOwn } from './json.ts'

/** Converts an integer beyond 2^53. */
type ReadLong = (digits: string) => unknown

/** Written out instead of `\d{16}`, which takes ten times as long. */
const longDigits = new RegExp('\\d'.repeat(16))

/** As JSON.parse, but integers beyond 2^53 become `bigint`: Go programs write 64-bit integers. Throws SyntaxError. */
export function parseJsonText(text: string, readLong: ReadLong = BigInt): unknown {
  // The native parser is several times as fast, and few texts have such long numbers.
  if (!hasLongInteger(text)) return JSON.parse(text)
  // Checks the syntax. The result is dropped, so that a large text is not in memory as two values.
  JSON.parse(text)
  return parseExactly(text, readLong)
}

/** As `parseJsonText`, but undefined for a text that is not JSON. */
export function tryParseJsonText(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}

function hasLongInteger(text: string): boolean {
  return longDigits.test(text) && /(?:^|[[:,\s])-?\d{16,}(?=[\s,\]}]|$)/.test(text)
}

type ParseTarget = unknown[] | { [key: string]: unknown }

/** The slow parser, for a text that is valid JSON. */
function parseExactly(text: string, readLong: ReadLong): unknown {
  const root: unknown[] = []
  const open: ParseTarget[] = [root]
  let key: string | undefined
  let position = 0
  while (position < text.length) {
    const character = text[position]!
    const start = position
    position += 1
    if (character === '}' || character === ']') {
      open.pop()
    } else if (character === '{' || character === '[') {
      const container: ParseTarget = character === '{' ? {} : []
      key = put(open.at(-1)!, key, container)
      open.push(container)
    } else if (character === '"') {
      position = endOfString(text, start)
      const string = readString(text, start, position)
      const target = open.at(-1)!
      // In an object, a string without a preceding key is a key.
      if (key === undefined && !Array.isArray(target)) key = string
      else key = put(target, key, string)
    } else if (!' \t\r\n,:'.includes(character)) {
      while (position < text.length && !' \t\r\n,]}'.includes(text[position]!)) position += 1
      key = put(open.at(-1)!, key, readScalar(text.slice(start, position), readLong))
    }
  }
  return root[0]
}

/** Adds a value to its container. Returns undefined, the next key. */
function put(target: ParseTarget, key: string | undefined, value: unknown): undefined {
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

/** As JSON.stringify, but writes a `bigint` as an integer and `undefined` as `null`, at any depth. */
export function toJsonText(value: unknown): string {
  // With a `toJSON` of BigInt, as some programs define it, JSON.stringify writes bigints as strings.
  if ('toJSON' in BigInt.prototype) return writeExactly(value)
  try {
    return JSON.stringify(value) ?? 'null'
  } catch (error) {
    // A bigint, a stack overflow, or a cycle, for which writeExactly throws as well.
    if (error instanceof TypeError || error instanceof RangeError) return writeExactly(value)
    throw error
  }
}

/**
 * Whether the JSON text of a value is certainly longer than `maxLength`, without writing the text. False if it may be longer: numbers, for
 * example, count as one character.
 */
export function isLongerAsText(root: unknown, maxLength: number): boolean {
  let left = maxLength
  const pending = [root]
  for (; pending.length > 0 && left >= 0; left -= 1) {
    const value = pending.pop()
    if (typeof value === 'string') left -= value.length
    if (!isContainer(value)) continue
    const inner = Array.isArray(value) ? value : Object.values(value)
    // The number of items alone exceeds the limit.
    if (inner.length > left) return true
    if (!Array.isArray(value)) for (const key of Object.keys(value)) left -= key.length
    for (const one of inner) pending.push(one)
  }
  return left < 0
}

/** As `toJsonText`, in ASCII as Python's `json.dumps` writes it: `ü` is `\u00fc`, and surrogates are escaped separately. */
export function toAsciiJsonText(value: unknown): string {
  return toJsonText(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

interface WriteFrame {
  readonly container: object
  readonly values: readonly unknown[]
  /** Undefined for a list. */
  readonly keys: readonly string[] | undefined
  index: number
  /** The text before the next value. */
  separator: '' | ','
}

/** The slow writer, with the open containers in a list. */
function writeExactly(root: unknown): string {
  const parts: string[] = []
  const frames: WriteFrame[] = []
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

function writeValue(given: unknown, before: string, parts: string[], frames: WriteFrame[], open: Set<object>): void {
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

/** The value that JSON writes: the result of `toJSON`, and undefined for functions and symbols. */
function toPlain(value: unknown, key: string): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { toJSON?: unknown }
  const plain: unknown = typeof toJSON === 'function' ? toJSON.call(value, key) : value
  return typeof plain === 'function' || typeof plain === 'symbol' ? undefined : plain
}
