/**
 * The tokens of a TypeScript or JavaScript file, as far as calls and literals need them. No parser is among the dependencies, and
 * none is needed to see `client.create('pods', …)`: this is a reader of strings, names and brackets. Never throws. Pure.
 */

export interface Token {
  /** A template with substitutions is a mark, and its substitutions are in brackets after it. */
  readonly type: 'name' | 'string' | 'template' | 'mark' | 'number'
  /** As it is written; of a string or a template, its value. */
  readonly text: string
  readonly line: number
}

/** After these words a slash begins a regular expression. */
const operators = new Set('return typeof case in of do else void delete throw new await yield instanceof'.split(' '))

const nameStart = /[\p{ID_Start}$_#@]/u
const pieces = {
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

export function tokenize(source: string): Token[] {
  const reader = new Reader(source)
  while (reader.position < source.length) reader.read()
  return reader.tokens
}

class Reader {
  readonly tokens: Token[] = []
  position = 0
  #line = 1
  readonly #source: string

  constructor(source: string) {
    this.#source = source
  }

  read(): void {
    const next = this.#source[this.position]!
    if (next === '\n') this.#take(/\n/y)
    else if (this.#take(pieces.space) || this.#take(pieces.lineComment) || this.#take(pieces.blockComment)) return
    else if (next === '`') this.#readTemplate()
    else if (next === "'" || next === '"') this.#push('string', (text) => unquote(text), pieces.string)
    else if (next === '/' && this.#isRegexNext() && this.#take(pieces.regex))
      this.tokens.push(this.#token('mark', '/re/'))
    else if (nameStart.test(next)) this.#push('name', (text) => text, pieces.name)
    else if (/\d/.test(next)) this.#push('number', (text) => text, pieces.number)
    else this.#push('mark', (text) => text, pieces.mark)
  }

  #token(type: Token['type'], text: string): Token {
    return { type, text, line: this.#line }
  }

  #push(type: Token['type'], toText: (found: string) => string, pattern: RegExp): void {
    const line = this.#line
    // A character that begins nothing is skipped: the reader always moves on.
    const found = this.#take(pattern) ?? this.#take(/[\s\S]/y)!
    this.tokens.push({ type, text: toText(found), line })
  }

  #take(pattern: RegExp): string | undefined {
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

  /** One token where it is a plain text; else a mark, and the tokens of each substitution in round brackets. */
  #readTemplate(): void {
    const line = this.#line
    this.position += 1
    let text = ''
    let isPlain = true
    for (;;) {
      text += this.#take(pieces.templatePart) ?? ''
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

/** Names of resources need no escapes: those that are there only must not end the string. */
function dropEscapes(text: string): string {
  return text.replace(/\\([\s\S])/g, '$1')
}

/** The position of the bracket that closes the one at `start`; the end where there is none. */
export function closingOf(tokens: readonly Token[], start: number): number {
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

/** The parts between commas that are in no brackets. */
export function splitAtCommas(tokens: readonly Token[]): ReadonlyArray<readonly Token[]> {
  const parts: Token[][] = [[]]
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

/** The position after type arguments that begin at `start`, such as `<Pod>`; `start` where there are none. */
export function afterTypeArguments(tokens: readonly Token[], start: number): number {
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
