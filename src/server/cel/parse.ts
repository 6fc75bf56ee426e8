/**
 * Parses an expression in one pass with one token of lookahead, and expands macros with macros.ts. Positions and error messages
 * are cel-go's, whose parser recovers from more errors.
 */
import { call, type Expr, ident, list, literal, type MapEntry } from './ast.ts'
import { type CelToken, type TokenKind, tokenize } from './lexer.ts'
import { parseInt64, parseUint64, unquote } from './literals.ts'
import { expandMacro, MacroProblem } from './macros.ts'
import { Issues } from './source.ts'
import { Uint } from './values.ts'

const maxDepth = 250
const maxLength = 100_000

const reserved: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
)
const starters = `'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER`
const relations: ReadonlySet<string> = new Set(['<', '<=', '>=', '>', '==', '!=', 'in'])

/** Ends parsing after a reported error. */
class ParseAborted extends Error {}

export function parseExpression(source: string): { readonly expr?: Expr; readonly issues: Issues } {
  const issues = new Issues(source)
  const length = [...source].length
  if (length > maxLength) {
    issues.report(-1, `expression code point size exceeds limit: size: ${length}, limit ${maxLength}`)
    return { issues }
  }
  try {
    const expr = new CelParser(tokenize(source, issues), issues).parse()
    return { expr, issues }
  } catch (error) {
    if (error instanceof ParseAborted) return { issues }
    throw error
  }
}

class CelParser {
  readonly #tokens: readonly CelToken[]
  readonly #issues: Issues
  #index = 0
  #depth = 0

  constructor(tokens: readonly CelToken[], issues: Issues) {
    this.#tokens = tokens
    this.#issues = issues
  }

  parse(): Expr {
    const expr = this.#expr()
    const { kind, text, at } = this.#token
    if (kind === 'end') return expr
    const what = this.#peek(1).kind === 'end' ? 'extraneous' : 'mismatched'
    return this.#abort(at, `Syntax error: ${what} input '${text}' expecting <EOF>`)
  }

  get #token(): CelToken {
    return this.#tokens[this.#index]!
  }

  #peek(distance: number): CelToken {
    return this.#tokens[Math.min(this.#index + distance, this.#tokens.length - 1)]!
  }

  #is(text: string): boolean {
    return this.#token.text === text && (this.#token.kind === 'punctuation' || this.#token.kind === 'keyword')
  }

  #next(): CelToken {
    const token = this.#token
    if (token.kind !== 'end') this.#index += 1
    return token
  }

  #accept(text: string): CelToken | undefined {
    return this.#is(text) ? this.#next() : undefined
  }

  #expect(text: string, canBeInserted: boolean, expecting = `'${text}'`): CelToken {
    if (this.#is(text)) return this.#next()
    const { at, text: found } = this.#token
    if (this.#peek(1).text === text && this.#token.kind !== 'end') {
      this.#issues.report(at, `Syntax error: extraneous input '${found}' expecting ${expecting}`)
      this.#index += 2
      return this.#tokens[this.#index - 1]!
    }
    const isMissing = canBeInserted && expecting === `'${text}'`
    const message = isMissing ? `missing '${text}' at '${found}'` : `mismatched input '${found}' expecting ${expecting}`
    return this.#abort(at, `Syntax error: ${message}`)
  }

  #abort(at: number, message: string): never {
    this.#issues.report(at, message)
    throw new ParseAborted()
  }

  #deeper<T>(levels: number, parse: () => T): T {
    this.#depth += levels
    if (this.#depth > maxDepth) this.#abort(-1, `expression recursion limit exceeded: ${maxDepth}`)
    const result = parse()
    this.#depth -= levels
    return result
  }

  #expr(): Expr {
    return this.#deeper(1, () => {
      const condition = this.#logical('||', () => this.#logical('&&', () => this.#relation()))
      const question = this.#accept('?')
      if (!question) return condition
      const yes = this.#logical('||', () => this.#logical('&&', () => this.#relation()))
      this.#expect(':', this.#startsExpr(this.#token))
      return call(question.at, '_?_:_', [condition, yes, this.#expr()])
    })
  }

  #logical(operator: '&&' | '||', parse: () => Expr): Expr {
    const first = parse()
    if (!this.#is(operator)) return first
    const at = this.#token.at
    const terms = [first]
    while (this.#accept(operator)) terms.push(parse())
    return call(at, operator === '&&' ? '_&&_' : '_||_', terms)
  }

  #relation(): Expr {
    return this.#binary(relations, () =>
      this.#binary(new Set(['+', '-']), () => this.#binary(new Set(['*', '/', '%']), () => this.#unary())),
    )
  }

  /** Left-associative: `a - b - c`. Each operator adds one level to the recursion depth. */
  #binary(operators: ReadonlySet<string>, parse: () => Expr): Expr {
    let left = parse()
    const depth = this.#depth
    while (operators.has(this.#token.text) && /^(?:punctuation|keyword)$/.test(this.#token.kind)) {
      const { text, at } = this.#next()
      if (++this.#depth > maxDepth) this.#abort(-1, 'max recursion depth exceeded')
      left = call(at, text === 'in' ? '@in' : `_${text}_`, [left, parse()])
    }
    this.#depth = depth
    return left
  }

  /** Signs of different kinds cannot be mixed. An even number of equal signs cancels out. */
  #unary(): Expr {
    const { text, at } = this.#token
    if (!this.#is('-') && !this.#is('!')) return this.#member(this.#primary())
    const isNumber = /^(?:int|float)$/.test(this.#peek(1).kind)
    if (text === '-' && isNumber) return this.#member(this.#number(this.#next()))
    let count = 0
    while (this.#accept(text)) count += 1
    const operand = this.#member(this.#primary())
    if (count % 2 === 0) return operand
    return call(at, text === '-' ? '-_' : '!_', [operand])
  }

  #member(primary: Expr): Expr {
    let operand = primary
    const depth = this.#depth
    for (;;) {
      const isMember = this.#is('.') || this.#is('[')
      if (!isMember) break
      if (++this.#depth > maxDepth) this.#abort(-1, 'max recursion depth exceeded')
      operand = this.#is('.') ? this.#field(operand) : this.#element(operand)
    }
    this.#depth = depth
    return operand
  }

  #field(operand: Expr): Expr {
    const dot = this.#next()
    const isOptional = this.#accept('?') !== undefined
    const { kind, text, at } = this.#token
    if (kind === 'escaped') this.#abort(at, "unsupported syntax: '`'")
    if (kind !== 'ident') {
      const shown = kind === 'end' ? '.' : `.${text}`
      this.#abort(at, `Syntax error: no viable alternative at input '${shown}'`)
    }
    this.#next()
    if (isOptional) return call(dot.at, '_?._', [operand, literal(at, text)])
    const open = this.#accept('(')
    if (!open) return { kind: 'select', at: dot.at, operand, field: text, isTest: false }
    return this.#callOf(open.at, text, this.#arguments(), operand)
  }

  #element(operand: Expr): Expr {
    const bracket = this.#next()
    const name = this.#accept('?') ? '_[?_]' : '_[_]'
    const index = this.#expr()
    this.#expect(']', true)
    return call(bracket.at, name, [operand, index])
  }

  /** Expands a macro, or creates a call. */
  #callOf(at: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    try {
      return expandMacro(at, name, args, target) ?? call(at, name, args, target)
    } catch (error) {
      if (!(error instanceof MacroProblem)) throw error
      return this.#abort(error.at, error.message)
    }
  }

  #arguments(): Expr[] {
    if (this.#accept(')')) return []
    if (!this.#startsExpr(this.#token)) this.#unexpected(`${starters.replace("'(', ", "'(', ')', ")}`)
    const args = [this.#expr()]
    while (this.#accept(',')) args.push(this.#expr())
    this.#expect(')', false, "{')', ','}")
    return args
  }

  #startsExpr({ kind, text }: CelToken): boolean {
    if (kind === 'punctuation') return ['[', '{', '(', '.', '-', '!'].includes(text)
    return kind !== 'end' && kind !== 'escaped' && text !== 'in'
  }

  #unexpected(expecting: string): void {
    const { text, at, kind } = this.#token
    const isExtra = kind !== 'end' && this.#startsExpr(this.#peek(1))
    const message = `Syntax error: ${isExtra ? 'extraneous' : 'mismatched'} input '${text}' expecting {${expecting}}`
    if (!isExtra) this.#abort(at, message)
    this.#issues.report(at, message)
    this.#next()
  }

  #primary(): Expr {
    if (!this.#startsExpr(this.#token)) this.#unexpected(starters)
    const { kind, text, at } = this.#token
    if (this.#accept('(')) {
      const expr = this.#expr()
      this.#expect(')', this.#token.kind === 'end')
      return expr
    }
    if (this.#accept('[')) return this.#listLiteral(at)
    if (this.#accept('{')) return this.#mapLiteral(at)
    if (this.#accept('.')) return this.#name('.')
    if (kind === 'ident') return this.#name('')
    if (kind === 'punctuation') return this.#unary()
    return kind === 'int' || kind === 'float' ? this.#number() : this.#constant(kind, text, at)
  }

  #name(prefix: string): Expr {
    const { text, at, kind } = this.#next()
    if (kind !== 'ident') this.#abort(at, `Syntax error: no viable alternative at input '.${text}'`)
    if (this.#isMessage()) return this.#message(text)
    if (reserved.has(text)) this.#abort(at, `reserved identifier: ${text}`)
    const open = this.#accept('(')
    return open ? this.#callOf(open.at, prefix + text, this.#arguments()) : ident(at, prefix + text)
  }

  /** True for `a.b.C{`: names and dots up to a brace. */
  #isMessage(): boolean {
    let distance = 0
    while (this.#peek(distance).text === '.' && this.#peek(distance + 1).kind === 'ident') distance += 2
    return this.#peek(distance).text === '{' && this.#peek(distance).kind === 'punctuation'
  }

  #message(first: string): Expr {
    let name = first
    while (this.#accept('.')) name += `.${this.#next().text}`
    const { at } = this.#next()
    const values: Expr[] = []
    while (!this.#is('}')) {
      this.#accept('?')
      if (this.#next().kind !== 'ident') this.#abort(this.#token.at, "Syntax error: missing ':'")
      this.#expect(':', true)
      values.push(this.#expr())
      if (!this.#accept(',')) break
    }
    this.#expect('}', false, "{'}', ','}")
    return { kind: 'message', at, name, values }
  }

  #listLiteral(at: number): Expr {
    const elements: Expr[] = []
    const optionals = new Set<number>()
    while (!this.#is(']')) {
      if (this.#accept('?')) optionals.add(elements.length)
      elements.push(this.#expr())
      if (!this.#accept(',')) break
    }
    this.#expect(']', false, "{']', ','}")
    return list(at, elements, optionals)
  }

  #mapLiteral(at: number): Expr {
    const entries: MapEntry[] = []
    while (!this.#is('}')) {
      const isOptional = this.#accept('?') !== undefined
      const key = this.#expr()
      this.#expect(':', this.#startsExpr(this.#token))
      entries.push({ key, value: this.#expr(), isOptional })
      if (!this.#accept(',')) break
    }
    this.#expect('}', false, "{'}', ','}")
    return { kind: 'map', at, entries }
  }

  #number(sign?: CelToken): Expr {
    const { kind, text, at } = this.#next()
    const signed = (sign ? '-' : '') + text
    const from = sign?.at ?? at
    if (kind === 'float') return literal(from, Number(signed))
    const value = parseInt64(signed)
    return value === undefined ? this.#abort(from, 'invalid int literal') : literal(from, value)
  }

  #constant(kind: TokenKind, text: string, at: number): Expr {
    this.#next()
    if (kind === 'keyword') return literal(at, text === 'null' ? null : text === 'true')
    if (kind === 'uint') {
      const value = parseUint64(text.slice(0, -1))
      return value === undefined ? this.#abort(at, 'invalid uint literal') : literal(at, new Uint(value))
    }
    const unquoted = unquote(kind === 'bytes' ? text.slice(1) : text, kind === 'bytes')
    return 'problem' in unquoted ? this.#abort(at, unquoted.problem) : literal(at, unquoted.value)
  }
}
