/**
 * Parses literals: numbers with their limits, strings with their escapes. Returns undefined or a problem if the literal is
 * invalid.
 */
import { toBoundedBigInt } from '../../util/text/bounded-integers.ts'

const maxInt = 2n ** 63n - 1n
const minInt = -(2n ** 63n)
const maxUint = 2n ** 64n - 1n

export function parseInt64(text: string): bigint | undefined {
  const value = isHex(text) ? hexValue(text) : toBoundedBigInt(text)
  return value > maxInt || value < minInt ? undefined : value
}

export function parseUint64(text: string): bigint | undefined {
  const value = isHex(text) ? BigInt(text) : toBoundedBigInt(text)
  return value > maxUint ? undefined : value
}

function isHex(text: string): boolean {
  return /^-?0x/i.test(text)
}

function hexValue(text: string): bigint {
  return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text)
}

const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** The unescaped text between the quotes. With `isBytes`, each `\x` and octal escape is one byte. */
export function unquote(token: string, isBytes: boolean): { value: string | Uint8Array } | { problem: string } {
  const normal = token.replace(/\r\n?/g, '\n')
  const isRaw = /^[rR]/.test(normal)
  const quoted = isRaw ? normal.slice(1) : normal
  const width = /^(?:"""|''')/.test(quoted) && quoted.length >= 6 ? 3 : 1
  const body = quoted.slice(width, -width)
  const pieces: Array<string | number> = isRaw ? [body] : readEscapes(body, isBytes)
  if (pieces.includes(-1)) return { problem: 'unable to unescape string' }
  if (!isBytes) return { value: pieces.map((one) => (typeof one === 'number' ? toText(one) : one)).join('') }
  const bytes = pieces.map((one) => (typeof one === 'number' ? Uint8Array.of(one) : new TextEncoder().encode(one)))
  return { value: new Uint8Array(Buffer.concat(bytes)) }
}

/** Surrogates and values above U+10FFFF become the replacement character. */
function toText(code: number): string {
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? '\ufffd' : String.fromCodePoint(code)
}

/** Text segments and code points of escapes; -1 for a forbidden escape. */
function readEscapes(body: string, isBytes: boolean): Array<string | number> {
  const pattern = /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))|[^\\]+/g
  return [...body.matchAll(pattern)].map(([text, hex, short, long, octal, simple]) => {
    if (simple !== undefined) return simpleEscapes[simple] ?? simple
    if (hex !== undefined) return Number.parseInt(hex, 16)
    if (octal !== undefined) return Number.parseInt(octal, 8)
    const unicode = short ?? long
    if (unicode === undefined) return text
    const code = Number.parseInt(unicode, 16)
    return isBytes || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? -1 : code
  })
}
