/** Explains a JSON syntax error in the words of Go's scanner, for the error messages of json-text.ts. */
import { quote } from './field-errors.ts'

/** Maximum nesting of objects and lists, as in Go's decoder. */
export const maxDepth = 10_000

/** Scans text that is not valid JSON like Go's scanner does, up to the first offending character. */
export function explainSyntaxError(text: string): string {
  const scanner = new Scanner(text)
  try {
    scanner.scan()
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
  return 'unexpected end of JSON input'
}

class Scanner {
  readonly #text: string
  #position = 0

  /** A stack of the next expected tokens: the end of an open container (or more of its content), or a value after a key or a bracket. */
  readonly #expected: Array<'}' | ']' | 'value'> = []

  constructor(text: string) {
    this.#text = text
  }

  scan(): void {
    this.#value()
    while (this.#expected.length > 0) this.#goOn()
    if (this.#skipSpace() !== undefined) this.#fail('after top-level value')
  }

  /** Scans one value; of a container only the part before its first value. */
  #value(): void {
    const character = this.#skipSpace()
    if (character === '{') this.#open('}')
    else if (character === '[') this.#open(']')
    else if (character === '"') this.#string()
    else if (character === 't') this.#literal('true')
    else if (character === 'f') this.#literal('false')
    else if (character === 'n') this.#literal('null')
    else if (character !== undefined && /[-0-9]/.test(character)) this.#number()
    else this.#fail('looking for beginning of value')
  }

  #open(closer: '}' | ']'): void {
    if (this.#expected.length >= maxDepth) this.#fail('exceeded max depth')
    this.#position += 1
    this.#expected.push(closer)
    if (this.#skipSpace() === closer) {
      this.#position += 1
      this.#expected.pop()
    } else if (closer === '}') {
      this.#key()
    } else {
      this.#expected.push('value')
    }
  }

  #key(): void {
    if (this.#skipSpace() !== '"') this.#fail('looking for beginning of object key string')
    this.#string()
    if (this.#skipSpace() !== ':') this.#fail('after object key')
    this.#position += 1
    this.#expected.push('value')
  }

  #goOn(): void {
    const closer = this.#expected.at(-1)!
    const character = this.#skipSpace()
    if (closer === 'value') {
      this.#expected.pop()
      this.#value()
    } else if (character === closer) {
      this.#position += 1
      this.#expected.pop()
    } else if (character === ',') {
      this.#position += 1
      if (closer === '}') this.#key()
      else this.#value()
    } else {
      this.#fail(closer === '}' ? 'after object key:value pair' : 'after array element')
    }
  }

  #string(): void {
    this.#position += 1
    for (;;) {
      const character = this.#text[this.#position]
      if (character === undefined || character < ' ') this.#fail('in string literal')
      this.#position += 1
      if (character === '"') return
      if (character === '\\') this.#escape()
    }
  }

  #escape(): void {
    const character = this.#text[this.#position]
    if (character === undefined || !'bfnrt\\/"u'.includes(character)) this.#fail('in string escape code')
    this.#position += 1
    for (let digit = 0; character === 'u' && digit < 4; digit += 1) {
      if (!/[0-9a-fA-F]/.test(this.#text[this.#position] ?? '')) this.#fail('in \\u hexadecimal character escape')
      this.#position += 1
    }
  }

  #literal(word: string): void {
    for (const expected of word) {
      if (this.#text[this.#position] !== expected) this.#fail(`in literal ${word} (expecting '${expected}')`)
      this.#position += 1
    }
  }

  #number(): void {
    if (this.#text[this.#position] === '-') this.#position += 1
    if (this.#text[this.#position] === '0') this.#position += 1
    else this.#digits('in numeric literal')
    if (this.#text[this.#position] === '.') {
      this.#position += 1
      this.#digits('after decimal point in numeric literal')
    }
    if (/[eE]/.test(this.#text[this.#position] ?? '')) {
      this.#position += 1
      if (/[+-]/.test(this.#text[this.#position] ?? '')) this.#position += 1
      this.#digits('in exponent of numeric literal')
    }
  }

  #digits(context: string): void {
    if (!/[0-9]/.test(this.#text[this.#position] ?? '')) this.#fail(context)
    while (/[0-9]/.test(this.#text[this.#position] ?? '')) this.#position += 1
  }

  #skipSpace(): string | undefined {
    while (' \t\r\n'.includes(this.#text[this.#position] ?? 'x')) this.#position += 1
    return this.#text[this.#position]
  }

  #fail(context: string): never {
    const character = this.#text[this.#position]
    // Go's scanner processes the end of input as a space, and reports the end only where a space would be valid.
    const isSpaceFine = context === 'in string literal' || /^(looking|after object|after array)/.test(context)
    if (character === undefined && isSpaceFine) throw new SyntaxError('unexpected end of JSON input')
    throw new SyntaxError(`invalid character ${quoteCharacter(character ?? ' ')} ${context}`)
  }
}

/** Go's scanner works on bytes: it reports the first byte of a non-ASCII character as if it were a character. */
function quoteCharacter(character: string): string {
  const byte = Buffer.from(character)[0]!
  if (character === "'") return "'\\''"
  if (character === '"') return `'"'`
  return `'${quote(String.fromCodePoint(byte)).slice(1, -1)}'`
}
