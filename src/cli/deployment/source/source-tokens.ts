/**
 * Splits a TypeScript or JavaScript file into tokens: strings, names, numbers and marks. Enough to recognise `client.create('pods', …)`, without
 * a parser as a dependency. Never throws. Pure.
 */

export interface SourceToken {
  /** A template with substitutions is a mark, followed by the tokens of its substitutions in brackets. */
  readonly type: 'name' | 'string' | 'template' | 'mark' | 'number'
  /** The source text; the value of a string or a template. */
  readonly text: string
  readonly line: number
}

/** After these words, a slash starts a regular expression. */
const operators = new Set('return typeof case in of do else void delete throw new await yield instanceof'.split(' '))

const nameStart = /[\p{ID_Start}$_#@]/u
const patterns = {
  space: /[^\S\n]+/y,
  lineComment: /\/\/[^\n]*|#![^\n]*/y,
  blockComment: /\/\*[\s\S]*?(?:\*\/|$)/y,
  string: /'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?/y,
  regex: /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y,
  name: /[\p{ID_Start}$_#@][\p{ID_Continue}$\u200c\u200d]*/uy,
  number: /\.?\d[\w.]*/y,
  mark: /=>|\?\.(?!\d)|\.\.\.|[<>!=]=+|&&|\|\||\?\?|[\s\S]/y,
  templatePart: /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y,
}

export function tokenize(source: string): SourceToken[] {
  const reader = new TokenReader(source)
  while (reader.position < source.length) reader.read()
  return reader.tokens
}

class TokenReader {
  readonly tokens: SourceToken[] = []
  position = 0
  #line = 1
  readonly #source: string

  constructor(source: string) {
    this.#source = source
  }

  read(): void {
    const next = this.#source[this.position]!
    if (next === '\n') this.#match(/\n/y)
    else if (this.#match(patterns.space) || this.#match(patterns.lineComment) || this.#match(patterns.blockComment))
      return
    else if (next === '`') this.#readTemplate()
    else if (next === "'" || next === '"') this.#push('string', (text) => unquote(text), patterns.string)
    else if (next === '/' && this.#isRegexNext() && this.#match(patterns.regex))
      this.tokens.push(this.#token('mark', '/re/'))
    else if (nameStart.test(next)) this.#push('name', (text) => text, patterns.name)
    else if (/\d/.test(next)) this.#push('number', (text) => text, patterns.number)
    else this.#push('mark', (text) => text, patterns.mark)
  }

  #token(type: SourceToken['type'], text: string): SourceToken {
    return { type, text, line: this.#line }
  }

  #push(type: SourceToken['type'], toText: (found: string) => string, pattern: RegExp): void {
    const line = this.#line
    // Consumes one character if the pattern does not match, so that the reader always advances.
    const found = this.#match(pattern) ?? this.#match(/[\s\S]/y)!
    this.tokens.push({ type, text: toText(found), line })
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.position
    const found = pattern.exec(this.#source)?.[0]
    if (found === undefined || found === '') return undefined
    this.position += found.length
    for (const character of found) if (character === '\n') this.#line += 1
    return found
  }

  #isRegexNext(): boolean {
    const last = this.tokens.at(-1)
    if (last === undefined) return true
    if (last.type === 'name') return operators.has(last.text)
    return last.type === 'mark' && !/^[)\]}]$/.test(last.text)
  }

  /** One token for a template without substitutions; otherwise a mark, and the tokens of each substitution in round brackets. */
  #readTemplate(): void {
    const line = this.#line
    this.position += 1
    let text = ''
    let isPlain = true
    for (;;) {
      text += this.#match(patterns.templatePart) ?? ''
      if (!this.#source.startsWith('${', this.position)) break
      if (isPlain) this.tokens.push({ type: 'mark', text: '`', line })
      isPlain = false
      this.#readSubstitution()
    }
    this.position += 1
    if (isPlain) this.tokens.push({ type: 'template', text: dropEscapes(text), line })
  }

  #readSubstitution(): void {
    this.position += 2
    this.tokens.push(this.#token('mark', '('))
    let depth = 0
    while (this.position < this.#source.length) {
      const next = this.#source[this.position]
      if (next === '}' && depth === 0) break
      if (next === '{') depth += 1
      if (next === '}') depth -= 1
      this.read()
    }
    this.position += 1
    this.tokens.push(this.#token('mark', ')'))
  }
}

function unquote(text: string): string {
  const end = text.length > 1 && text.at(-1) === text[0] ? -1 : undefined
  return dropEscapes(text.slice(1, end))
}

/** Replaces escape sequences by the escaped character. Exact values are not needed: names of resources contain no escapes. */
function dropEscapes(text: string): string {
  return text.replace(/\\([\s\S])/g, '$1')
}

/** The position of the bracket that closes the one at `start`; the number of tokens if there is none. */
export function closingOf(tokens: readonly SourceToken[], start: number): number {
  let depth = 0
  for (let position = start; position < tokens.length; position += 1) {
    const { type, text } = tokens[position]!
    if (type !== 'mark') continue
    if (text === '(' || text === '[' || text === '{') depth += 1
    if (text === ')' || text === ']' || text === '}') depth -= 1
    if (depth === 0) return position
  }
  return tokens.length
}

/** Splits at commas outside of brackets. */
export function splitAtCommas(tokens: readonly SourceToken[]): ReadonlyArray<readonly SourceToken[]> {
  const parts: SourceToken[][] = [[]]
  for (let position = 0; position < tokens.length; position += 1) {
    const { type, text } = tokens[position]!
    const isOpening = type === 'mark' && (text === '(' || text === '[' || text === '{')
    const end = isOpening ? closingOf(tokens, position) : position
    if (type === 'mark' && text === ',') parts.push([])
    else parts.at(-1)!.push(...tokens.slice(position, end + 1))
    position = end
  }
  return parts.filter((part) => part.length > 0)
}

/** The position after type arguments that begin at `start`, such as `<Pod>`; `start` if there are none. */
export function afterTypeArguments(tokens: readonly SourceToken[], start: number): number {
  if (tokens[start]?.text !== '<') return start
  let depth = 0
  for (let position = start; position < tokens.length; position += 1) {
    const { text } = tokens[position]!
    if (text === '<') depth += 1
    if (text === '>') depth -= 1
    if (depth === 0) return position + 1
  }
  return start
}
