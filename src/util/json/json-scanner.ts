/**
 * Scans JSON text without building values: finds the ends of values, checks the syntax as strictly as JSON.parse, and
 * estimates the memory of the parsed values. Used by lazy-json.ts. Linear in the text; does not recurse.
 * The inner functions take a position and return the next one, or -1 for a syntax error: result objects would be slow.
 */

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Bytes of V8's heap (64 bits), measured: an empty object takes 64 with the slot that refers to it, a nested array 56. */
const containerCost = 64
const stringCost = 32
const scalarCost = 8

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
/** All characters except quotes, backslashes and control characters. */
const plainCharacters = /[ !#-[\]-\uffff]*/y
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** The positions of a value, and the estimated memory of the parsed value. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly cost: number
}

export class JsonScanner {
  /** Always at the first character of a token. */
  position: number
  /** Estimated bytes of the values scanned so far. */
  cost = 0
  readonly #text: string

  constructor(text: string, position: number = 0) {
    this.#text = text
    this.position = skipSpace(text, position)
  }

  /** Calls `pass` at each value of an object; `pass` has to scan the value. False for a syntax error, or if `pass` returns false. */
  eachMember(pass: (key: string) => boolean): boolean {
    return this.#each(closeBrace, () => {
      const start = this.position
      const end = skipString(this.#text, start)
      if (end === -1 || !this.#accept(colon, skipSpace(this.#text, end))) return false
      const key = this.#text.slice(start + 1, end - 1)
      return pass(key.includes('\\') ? (JSON.parse(`"${key}"`) as string) : key)
    })
  }

  /** As `eachMember`, for the items of an array. */
  eachItem(pass: () => boolean): boolean {
    return this.#each(closeBracket, pass)
  }

  /** Scans one value; undefined for a syntax error. */
  span(): Span | undefined {
    const { position: start, cost: before } = this
    const end = this.#skipValue()
    if (end === -1) return undefined
    this.position = skipSpace(this.#text, end)
    return { start, end, cost: this.cost - before }
  }

  get isAtEnd(): boolean {
    return this.position === this.#text.length
  }

  get isAtObject(): boolean {
    return this.#text.charCodeAt(this.position) === openBrace
  }

  get isAtArray(): boolean {
    return this.#text.charCodeAt(this.position) === openBracket
  }

  /** Iterates over the container at the position. */
  #each(closer: number, pass: () => boolean): boolean {
    this.cost += containerCost
    this.position = skipSpace(this.#text, this.position + 1)
    if (this.#accept(closer)) return true
    while (pass()) {
      if (this.#accept(closer)) return true
      if (!this.#accept(comma)) return false
    }
    return false
  }

  #accept(code: number, position: number = this.position): boolean {
    if (this.#text.charCodeAt(position) !== code) return false
    this.position = skipSpace(this.#text, position + 1)
    return true
  }

  /** Keeps the open containers in a list, since the text may have 10,000 levels. */
  #skipValue(): number {
    const text = this.#text
    const closers: number[] = []
    let position = this.position
    for (;;) {
      const code = text.charCodeAt(position)
      if (code === openBrace || code === openBracket) {
        const closer = code === openBrace ? closeBrace : closeBracket
        this.cost += containerCost
        position = skipSpace(text, position + 1)
        if (text.charCodeAt(position) !== closer) {
          closers.push(closer)
          position = closer === closeBrace ? skipKey(text, position) : position
          if (position === -1) return -1
          continue
        }
        position += 1
      } else {
        const end = code === quote ? skipString(text, position) : skipWord(text, position)
        if (end === -1) return -1
        this.cost += code === quote ? stringCost + end - position : scalarCost
        position = end
      }
      position = closeContainers(text, position, closers)
      if (position === -1 || closers.length === 0) return position
    }
  }
}

/** The position after a value: the start of the next one, or the end of the outermost one if no container is open. */
function closeContainers(text: string, end: number, closers: number[]): number {
  let position = end
  while (closers.length > 0) {
    position = skipSpace(text, position)
    const closer = closers[closers.length - 1]!
    const code = text.charCodeAt(position)
    if (code === comma) {
      const next = skipSpace(text, position + 1)
      return closer === closeBrace ? skipKey(text, next) : next
    }
    if (code !== closer) return -1
    closers.pop()
    position += 1
  }
  return position
}

function skipKey(text: string, position: number): number {
  const end = skipString(text, position)
  if (end === -1) return -1
  const next = skipSpace(text, end)
  return text.charCodeAt(next) === colon ? skipSpace(text, next + 1) : -1
}

function skipString(text: string, start: number): number {
  if (text.charCodeAt(start) !== quote) return -1
  let position = start + 1
  for (;;) {
    position = skipPattern(text, position, plainCharacters)
    if (text.charCodeAt(position) === quote) return position + 1
    position = skipPattern(text, position, escapeSequence)
    if (position === -1) return -1
  }
}

function skipWord(text: string, position: number): number {
  for (const word of ['true', 'false', 'null']) if (text.startsWith(word, position)) return position + word.length
  return skipPattern(text, position, number)
}

function skipPattern(text: string, position: number, pattern: RegExp): number {
  pattern.lastIndex = position
  return pattern.test(text) ? pattern.lastIndex : -1
}

function skipSpace(text: string, start: number): number {
  let position = start
  for (;;) {
    const code = text.charCodeAt(position)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return position
    position += 1
  }
}
