/**
 * Parses JSON text from clients like Go does: with Go's syntax error messages and depth limit, and with duplicate keys, which
 * JSON.parse does not report. Used for bodies and patches. Not recursive.
 */

import { isContainer } from '../util/json/json.ts'
import { parseJsonText as parseExactly } from '../util/json/json-text.ts'
import { toBoundedBigInt } from '../util/text/bounded-integers.ts'
import { explainSyntaxError, maxDepth } from './json-syntax.ts'

/**
 * Parses a JSON text. Error messages are those of Go's decoder: `invalid character '}' after object key`. With `exact`, integers
 * beyond the safe range that fit into int64 become bigints.
 */
export function parseJsonText(text: string, { exact = false }: { readonly exact?: boolean } = {}): unknown {
  let value: unknown
  try {
    const whole = text.includes('\\u') ? replaceHalves(text) : text
    value = exact ? parseInt64(whole) : JSON.parse(whole)
  } catch {
    throw new SyntaxError(explainSyntaxError(text))
  }
  if (mayBeTooDeep(text)) checkDepth(text)
  return value
}

/** Go reads integers beyond int64 as floating-point numbers. */
function parseInt64(text: string): unknown {
  return parseExactly(text, (digits) => {
    const value = toBoundedBigInt(digits)
    return BigInt.asIntN(64, value) === value ? value : Number(digits)
  })
}

/** A lone surrogate is not a character; Go reads the replacement character instead. */
function replaceHalves(text: string): string {
  const escapes = /\\\\|\\u(?:d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|d[89a-f][\da-f]{2})/gi
  return text.replace(escapes, (match) => (match.length === 6 ? '\\ufffd' : match))
}

/** True if a value is nested deeper than a JSON text may be. Patches can create such values. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth >= maxDepth) return true
    const next: unknown[] = []
    for (const one of level) {
      if (!isContainer(one)) continue
      for (const child of Array.isArray(one) ? one : Object.values(one)) if (isContainer(child)) next.push(child)
    }
    level = next
  }
  return false
}

/** A quick check: most texts have fewer brackets than the depth limit. */
function mayBeTooDeep(text: string): boolean {
  if (text.length <= maxDepth) return false
  let brackets = 0
  for (let index = 0; index < text.length && brackets <= maxDepth; index += 1) {
    const code = text.charCodeAt(index)
    if (code === 0x5b || code === 0x7b) brackets += 1
  }
  return brackets > maxDepth
}

function checkDepth(text: string): void {
  let depth = 0
  for (const { type } of tokens(text)) {
    if (type === '{' || type === '[') depth += 1
    else if (type === '}' || type === ']') depth -= 1
    if (depth > maxDepth) throw new SyntaxError(`invalid character '${type}' exceeded max depth`)
  }
}

type TokenType = '{' | '}' | '[' | ']' | ',' | ':' | 'string' | 'other'

interface JsonToken {
  readonly type: TokenType
  readonly start: number
  readonly end: number
}

/** The tokens of a valid JSON text. */
function* tokens(text: string): Generator<JsonToken> {
  let position = 0
  while (position < text.length) {
    const start = position
    const character = text[position]!
    if (character === '"') {
      position = endOfString(text, start)
      yield { type: 'string', start, end: position }
    } else if ('{}[],:'.includes(character)) {
      position += 1
      yield { type: character as TokenType, start, end: position }
    } else if (' \t\r\n'.includes(character)) {
      position += 1
    } else {
      while (position < text.length && !' \t\r\n{}[],:"'.includes(text[position]!)) position += 1
      yield { type: 'other', start, end: position }
    }
  }
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text[end - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return end + 1
  }
  return text.length
}

interface OpenContainer {
  /** The path of the container: `spec.list[0]`. */
  readonly path: string
  /** The keys seen so far; undefined for a list. */
  readonly keys: Set<string> | undefined
  key: string | undefined
  index: number
}

/**
 * Returns the paths of duplicate keys, without repetition, in the order of their second occurrence, at most a hundred:
 * `spec.list[0].name`. `text` must be valid JSON; `value`, if given, its parsed value.
 */
export function findDuplicateFields(text: string, value?: unknown): string[] {
  // Without duplicates, which is the normal case, text and value have the same number of keys; counting them is cheap.
  if (value !== undefined && countKeys(text) === countFields(value)) return []
  const found = new Set<string>()
  const frames: OpenContainer[] = []
  for (const token of tokens(text)) {
    const frame = frames.at(-1)
    if (token.type === '{' || token.type === '[') {
      const keys = token.type === '{' ? new Set<string>() : undefined
      frames.push({ path: frame === undefined ? '' : placeIn(frame), keys, key: undefined, index: 0 })
    } else if (token.type === '}' || token.type === ']') {
      frames.pop()
    } else if (frame !== undefined && token.type === ',') {
      frame.key = undefined
      frame.index += 1
    } else if (frame?.keys !== undefined && token.type === 'string' && frame.key === undefined) {
      frame.key = JSON.parse(text.slice(token.start, token.end)) as string
      if (frame.keys.has(frame.key)) found.add(placeIn(frame))
      frame.keys.add(frame.key)
      if (found.size >= 100) break
    }
  }
  return [...found]
}

function countKeys(text: string): number {
  let count = 0
  for (let start = text.indexOf('"'); start >= 0; start = text.indexOf('"', start)) {
    start = endOfString(text, start)
    while (' \t\r\n'.includes(text[start] ?? 'x')) start += 1
    if (text[start] === ':') count += 1
  }
  return count
}

function countFields(root: unknown): number {
  let count = 0
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const value = pending.pop()
    if (!isContainer(value)) continue
    if (!Array.isArray(value)) count += Object.keys(value).length
    for (const child of Array.isArray(value) ? value : Object.values(value)) if (isContainer(child)) pending.push(child)
  }
  return count
}

function placeIn({ path, keys, key, index }: OpenContainer): string {
  if (keys === undefined) return `${path}[${index}]`
  return path === '' ? key! : `${path}.${key}`
}
