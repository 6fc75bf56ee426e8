/**
 * Parses Kubernetes' JSONPath (client-go's util/jsonpath) into nodes for jsonpath.ts. Existing CRDs rely on its quirks, so its grammar
 * is followed instead of the RFC: `['a.b']` is two fields, a dot in a name is written `\.`, a filter is `[?(left op right)]`.
 */
import { trim } from '../../util/text/trim.ts'
import { unquote } from './unquote.ts'

interface SliceBound {
  readonly known: boolean
  readonly value: number
}

export type PathNode =
  | { readonly type: 'literal'; readonly value: string | number | boolean }
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'wildcard' | 'recursive' | 'identifier' }
  | {
      readonly type: 'slice'
      readonly from: SliceBound
      readonly to: SliceBound
      readonly step: SliceBound
      readonly isIndex: boolean
    }
  | { readonly type: 'union'; readonly paths: ReadonlyArray<readonly PathNode[]> }
  | {
      readonly type: 'filter'
      readonly left: readonly PathNode[]
      readonly operator: string
      readonly right: readonly PathNode[]
    }

/** An invalid path; the messages are those of client-go. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError'
}

/** The paths between braces, in order; text outside of braces is ignored. */
export function parseJsonPathTemplate(text: string): Array<readonly PathNode[]> {
  const parser = new JsonPathParser(text)
  const paths: Array<readonly PathNode[]> = []
  while (parser.skipText()) paths.push(parser.parseAction())
  return paths
}

/** Parses one path as between the braces of a template. */
function parseNested(text: string): readonly PathNode[] {
  return parseJsonPathTemplate(`{${text}}`)[0]!
}

class JsonPathParser {
  readonly #input: string
  #position = 0

  constructor(input: string) {
    this.#input = input
  }

  /** Moves past the next opening brace; false at the end of the text. */
  skipText(): boolean {
    const brace = this.#input.indexOf('{', this.#position)
    this.#position = brace < 0 ? this.#input.length : brace + 1
    return brace >= 0
  }

  parseAction(): readonly PathNode[] {
    const nodes: PathNode[] = []
    while (!this.#take('}')) this.#parseStep(nodes)
    return nodes
  }

  #parseStep(nodes: PathNode[]): void {
    if (this.#take('[?(')) return void nodes.push(this.#parseFilter())
    if (this.#take('..')) return void this.#parseRecursive(nodes)
    const start = this.#position
    const character = this.#next()
    if (character === undefined || /[\r\n]/.test(character)) throw new JsonPathError('unclosed action')
    if (character === ' ' || character === '@' || character === '$') return
    if (character === '[') return void nodes.push(...this.#parseArray())
    if (character === '"' || character === "'") return void nodes.push(this.#parseQuote(start, character))
    if (character === '.') return void nodes.push(this.#parseField())
    this.#position = start
    if (/[+\-\p{Nd}]/u.test(character)) return void nodes.push(this.#parseNumber())
    if (/[_\p{L}]/u.test(character)) return void nodes.push(this.#parseIdentifier())
    throw new JsonPathError(`unrecognized character in action: ${character}`)
  }

  #parseRecursive(nodes: PathNode[]): void {
    if (nodes.at(-1)?.type === 'recursive') throw new JsonPathError('invalid multiple recursive descent')
    nodes.push({ type: 'recursive' })
    const following = this.#input.slice(this.#position, this.#position + 2)
    if (/^[_\p{L}\p{Nd}]/u.test(following)) nodes.push(this.#parseField())
  }

  #parseField(): PathNode {
    const start = this.#position
    for (;;) {
      const before = this.#position
      const character = this.#next()
      if (character === '\\') this.#next()
      else if (character === undefined || isTerminator(character)) {
        this.#position = before
        break
      }
    }
    const name = this.#input.slice(start, this.#position)
    return name === '*' ? { type: 'wildcard' } : { type: 'field', name: name.replaceAll('\\', '') }
  }

  #parseNumber(): PathNode {
    const text = this.#match(/[+-]?[.\p{Nd}]*/uy)
    if (!/^[+-]?(\d+(?:\.\d*)?|\.\d+)$/.test(text)) throw new JsonPathError(`cannot parse number ${text}`)
    return { type: 'literal', value: Number(text) }
  }

  #parseIdentifier(): PathNode {
    const word = this.#match(/[^ \t\r\n.,[\]$@{}]*/y)
    if (word === 'true' || word === 'false') return { type: 'literal', value: word === 'true' }
    // `range` and `end` produce several values, which a column cannot show.
    return { type: 'identifier' }
  }

  #parseQuote(start: number, quote: string): PathNode {
    for (;;) {
      const character = this.#next()
      if (character === undefined || character === '\n') throw new JsonPathError('unterminated quoted string')
      if (character === quote && this.#input[this.#position - 2] !== '\\') break
    }
    const text = this.#input.slice(start, this.#position)
    const value = unquote(text)
    if (value === undefined) throw new JsonPathError(`unquote string ${text} error invalid syntax`)
    return { type: 'literal', value }
  }

  #parseArray(): readonly PathNode[] {
    const text = this.#match(/[^\]\n]*/y)
    if (!this.#take(']')) throw new JsonPathError('unterminated array')
    const parts = text.split(',')
    if (parts.length > 1) {
      return [{ type: 'union', paths: parts.map((part) => parseNested(`[${trim(part, ' ')}]`)) }]
    }
    const key = text.match(/^'([^']*)'$/)
    return key ? parseNested(`.${key[1]}`) : [parseSlice(text === '*' ? ':' : text)]
  }

  #parseFilter(): PathNode {
    const start = this.#position
    let quote: string | undefined
    let isClosed = false
    for (;;) {
      const character = this.#next()
      if (character === undefined || character === '\n') throw new JsonPathError('unterminated filter')
      // A filter has at most one string: a parenthesis inside of it does not end the filter.
      if (character === ')' && (quote !== undefined) === isClosed) break
      if (character !== '"' && character !== "'") continue
      if (quote === undefined) quote = character
      else if (character === quote && this.#input[this.#position - 2] !== '\\') isClosed = true
    }
    const text = this.#input.slice(start, this.#position - 1)
    if (!this.#take(']')) throw new JsonPathError('unclosed array expect ]')
    // Go's pattern allows no line break after the operator. Checked separately, since a failing match would take quadratic time.
    const comparison = text.match(/^([^!<>=]+)([!<>=]+)(.+)$/s)
    if (!comparison || comparison[3]!.includes('\n'))
      return { type: 'filter', left: parseNested(text), operator: 'exists', right: [] }
    const [, left = '', operator = '', right = ''] = comparison
    return { type: 'filter', left: parseNested(left), operator, right: parseNested(right) }
  }

  #next(): string | undefined {
    const code = this.#input.codePointAt(this.#position)
    if (code === undefined) return undefined
    const character = String.fromCodePoint(code)
    this.#position += character.length
    return character
  }

  #take(prefix: string): boolean {
    const found = this.#input.startsWith(prefix, this.#position)
    if (found) this.#position += prefix.length
    return found
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#position
    const text = pattern.exec(this.#input)?.[0] ?? ''
    this.#position += text.length
    return text
  }
}

function isTerminator(character: string): boolean {
  return ' \t\r\n.,[]$@{}'.includes(character)
}

/** `[2]`, `[-1]`, `[1:3]`, `[::2]`; a single index is a slice of one item. */
function parseSlice(text: string): PathNode {
  const match = text.match(/^(-?\d*)(:-?\d*)?(:-?\d*)?$/)
  if (!match) throw new JsonPathError(`invalid array index ${text}`)
  const from = parseBound(match[1]!)
  const isIndex = match[2] === undefined
  const to = isIndex ? { known: true, value: from.value + 1 } : parseBound(match[2]!.slice(1))
  return { type: 'slice', from, to, step: parseBound((match[3] ?? ':').slice(1)), isIndex }
}

function parseBound(text: string): SliceBound {
  if (text === '') return { known: false, value: 0 }
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new JsonPathError(`array index ${text} is not a number`)
  return { known: true, value }
}
