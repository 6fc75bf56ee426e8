/** Splits an expression into tokens. Invalid characters are reported and skipped, as in cel-go's lexer. */
import type { Issues } from './source.ts'

export type TokenKind =
  | 'bytes'
  | 'end'
  | 'escaped'
  | 'float'
  | 'ident'
  | 'int'
  | 'keyword'
  | 'punctuation'
  | 'string'
  | 'uint'

export interface CelToken {
  readonly kind: TokenKind
  /** Source text of the token; `<EOF>` for the end. */
  readonly text: string
  readonly at: number
}

const escapePattern = /\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/.source

/** The longest match wins; among equal lengths, the first rule. */
const rules: ReadonlyArray<readonly [kind: TokenKind, pattern: RegExp]> = [
  ['punctuation', /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y],
  ['float', /\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/y],
  ['uint', /(?:0x[0-9a-fA-F]+|\d+)[uU]/y],
  ['int', /0x[0-9a-fA-F]+|\d+/y],
  ['string', stringPattern('')],
  ['bytes', stringPattern('[bB]')],
  ['ident', /[A-Za-z_][A-Za-z0-9_]*/y],
  ['escaped', /`[A-Za-z0-9_.\-/ ]+`/y],
]
const blank = /(?:[\t \r\n\f]|\/\/[^\n]*)+/y
const keywords: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null'])

function stringPattern(prefix: string): RegExp {
  const forms = [
    `[rR]"""[\\s\\S]*?"""`,
    `[rR]'''[\\s\\S]*?'''`,
    `[rR]"[^"\\n\\r]*"`,
    `[rR]'[^'\\n\\r]*'`,
    `"""(?:${escapePattern}|[^\\\\])*?"""`,
    `'''(?:${escapePattern}|[^\\\\])*?'''`,
    `"(?:${escapePattern}|[^\\\\"\\n\\r])*"`,
    `'(?:${escapePattern}|[^\\\\'\\n\\r])*'`,
  ]
  return new RegExp(`${prefix}(?:${forms.join('|')})`, 'y')
}

export function tokenize(source: string, issues: Issues): CelToken[] {
  const tokens: CelToken[] = []
  let at = 0
  while (at < source.length) {
    blank.lastIndex = at
    const skipped = blank.exec(source)
    if (skipped) {
      at += skipped[0].length
      continue
    }
    const token = longestToken(source, at)
    if (token) tokens.push(token)
    const length = token?.text.length ?? unknownLength(source, at)
    if (!token) issues.report(at, `Syntax error: token recognition error at: '${source.slice(at, at + length)}'`)
    at += length
  }
  return [...tokens, { kind: 'end', text: '<EOF>', at: source.length }]
}

function longestToken(source: string, at: number): CelToken | undefined {
  let longest: CelToken | undefined
  for (const [kind, pattern] of rules) {
    pattern.lastIndex = at
    const text = pattern.exec(source)?.[0]
    if (text !== undefined && text.length > (longest?.text.length ?? 0)) {
      longest = { kind: kind === 'ident' && keywords.has(text) ? 'keyword' : kind, text, at }
    }
  }
  return longest
}

/** Length of an invalid token: cel-go's lexer consumes a prefix of a token up to the character that cannot continue it. */
function unknownLength(source: string, at: number): number {
  const quote = /[bB]?[rR]?(["'])/y
  quote.lastIndex = at
  const opening = quote.exec(source)
  if (opening) return unterminatedLength(source, at + opening[0].length, opening[1]!) - at
  if (/[=&|]/.test(source[at]!)) return Math.min(2, source.length - at)
  return source.codePointAt(at)! > 0xffff ? 2 : 1
}

function unterminatedLength(source: string, from: number, quote: string): number {
  const part = new RegExp(`${escapePattern}|[^\\\\${quote}\\n\\r]`, 'y')
  let at = from
  for (;;) {
    part.lastIndex = at
    const match = part.exec(source)
    if (!match) return Math.min(source[at] === '\\' ? at + 2 : at + 1, source.length)
    at += match[0].length
  }
}
