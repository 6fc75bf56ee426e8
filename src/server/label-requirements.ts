/**
 * The language of label selectors: from text to requirements and back, and whether labels meet one. A port of the rules
 * (not the code) of apimachinery's `labels` package, whose messages clients get to see. selectors.ts is what others use.
 */
import { toBoundedBigInt } from '../util/bounded-integers.ts'
import { type FieldError, formatFieldError, invalid } from './field-errors.ts'
import { labelValueProblems, qualifiedNameProblems } from './names.ts'

export type Operator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<'

/** Labels of an object. Keys come from clients: look only at those of its own. */
export type Labels = Readonly<Record<string, string>>

export interface Requirement {
  readonly key: string
  readonly operator: Operator
  readonly values: readonly string[]
}

/** A selector that cannot be understood; the message is the real server's. */
export class SelectorError extends Error {}

/** Checks what a requirement is made of. */
export function createRequirement(key: string, operator: Operator, values: readonly string[]): Requirement {
  const errors: FieldError[] = []
  const problems = qualifiedNameProblems(key)
  if (problems.length > 0) errors.push(invalid('key', key, problems.join('; ')))
  errors.push(...countErrors(operator, values))
  values.forEach((value, index) => {
    const wrong = labelValueProblems(value)
    if (wrong.length > 0) errors.push(invalid(`values[${index}][${key}]`, value, wrong.join('; ')))
  })
  const messages = [...new Set(errors.map(formatFieldError))]
  if (messages.length > 0) throw new SelectorError(messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`)
  return { key, operator, values }
}

function countErrors(operator: Operator, values: readonly string[]): FieldError[] {
  const shown = values.length === 0 ? null : values
  switch (operator) {
    case 'in':
    case 'notin':
      if (values.length > 0) return []
      return [invalid('values', shown, "for 'in', 'notin' operators, values set can't be empty")]
    case 'exists':
    case '!':
      if (values.length === 0) return []
      return [invalid('values', shown, 'values set must be empty for exists and does not exist')]
    case '>':
    case '<':
      return values.flatMap((value, index) => {
        if (parseInt64(value) !== undefined) return []
        return [invalid(`values[${index}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer")]
      })
    default:
      return []
  }
}

function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined
  const number = toBoundedBigInt(text)
  return BigInt.asIntN(64, number) === number ? number : undefined
}

/** Labels that are not there meet `!=` and `notin`, and neither `>` nor `<`. */
export function isMet({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value)
    case '>':
    case '<':
      return value !== undefined && isMetByNumber(operator, value, values[0]!)
    default:
      return value !== undefined && values.includes(value)
  }
}

function isMetByNumber(operator: '>' | '<', value: string, bound: string): boolean {
  const left = parseInt64(value)
  const right = parseInt64(bound)
  if (left === undefined || right === undefined) return false
  return operator === '>' ? left > right : left < right
}

export function formatRequirement({ key, operator, values }: Requirement): string {
  const list = [...values].sort().join(',')
  switch (operator) {
    case 'exists':
      return key
    case '!':
      return `!${key}`
    case 'in':
    case 'notin':
      return `${key} ${operator} (${list})`
    default:
      return `${key}${operator}${list}`
  }
}

const symbols = new Set(['=', '==', '!=', '!', '(', ')', ',', '>', '<'])

/** A symbol or a word as it is written; '' for the end. */
function tokenize(text: string): string[] {
  const tokens: string[] = []
  // Two symbols are one only where that makes one: `==`, `!=`, but not `=!`. A NUL after a token is skipped; one that
  // stands where a token could begin is the end to the real server.
  for (const [token] of text.matchAll(/(?:==|!=|[=!(),><]|[^=!(),>< \t\r\n\0]+)\0?|\0/g)) {
    if (token === '\0') break
    tokens.push(token.replace('\0', ''))
  }
  return [...tokens, '']
}

function isWord(token: string): boolean {
  return token !== '' && !symbols.has(token)
}

/** All requirements of a selector, sorted by key. */
export function parseRequirements(text: string): Requirement[] {
  return new Parser(tokenize(text)).parse().sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

const binaryOperators: readonly string[] = ['in', 'notin', '=', '==', '!=', '>', '<']

class Parser {
  readonly #tokens: readonly string[]
  #position = 0

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = []
    if (this.#peek() === '') return requirements
    if (!this.#isAtRequirement()) throw this.#unexpected("expected: !, identifier, or 'end of string'")
    for (;;) {
      requirements.push(this.#parseRequirement())
      if (this.#peek() === '') return requirements
      if (this.#peek() !== ',') throw this.#unexpected("expected: ',' or 'end of string'")
      this.#position += 1
      if (!this.#isAtRequirement()) throw this.#unexpected("expected: identifier after ','")
    }
  }

  #peek(): string {
    return this.#tokens[this.#position] ?? ''
  }

  #isAtRequirement(): boolean {
    return this.#peek() === '!' || isWord(this.#peek())
  }

  #take(): string {
    const token = this.#peek()
    this.#position += 1
    return token
  }

  #unexpected(expectation: string, separator = ', '): SelectorError {
    return new SelectorError(`found '${this.#peek()}'${separator}${expectation}`)
  }

  #parseRequirement(): Requirement {
    try {
      return this.#parseKeyAndRest()
    } catch (error) {
      if (error instanceof SelectorError) throw new SelectorError(`unable to parse requirement: ${error.message}`)
      throw error
    }
  }

  #parseKeyAndRest(): Requirement {
    const isNegated = this.#peek() === '!'
    if (isNegated) this.#position += 1
    if (!isWord(this.#peek())) throw this.#unexpected('expected: identifier')
    const key = this.#take()
    const problems = qualifiedNameProblems(key)
    if (problems.length > 0) throw new SelectorError(formatFieldError(invalid('<nil>', key, problems.join('; '))))
    const isAlone = this.#peek() === '' || this.#peek() === ','
    // After a `!` anything may follow in the real one too: it is complained of as what follows a requirement.
    if (isNegated || isAlone) return createRequirement(key, isNegated ? '!' : 'exists', [])
    const operator = this.#parseOperator()
    const values = operator === 'in' || operator === 'notin' ? this.#parseValues() : [this.#parseExactValue()]
    return createRequirement(key, operator, [...new Set(values)].sort())
  }

  #parseOperator(): Operator {
    if (!binaryOperators.includes(this.#peek())) throw this.#unexpected('expected: in, notin, =, ==, !=, gt, lt')
    return this.#take() as Operator
  }

  #parseExactValue(): string {
    if (this.#peek() === '' || this.#peek() === ',') return ''
    if (!isWord(this.#peek())) throw this.#unexpected('expected: identifier')
    return this.#take()
  }

  /** A list in parentheses. Between commas there may be nothing: the empty value. */
  #parseValues(): string[] {
    if (this.#peek() !== '(') throw this.#unexpected("expected: '('", ' ')
    this.#position += 1
    if (this.#peek() === ')') {
      this.#position += 1
      return ['']
    }
    if (this.#peek() !== ',' && !isWord(this.#peek())) throw this.#unexpected("expected: ',', ')' or identifier")
    return this.#parseList()
  }

  #parseList(): string[] {
    const values: string[] = []
    for (;;) {
      if (isWord(this.#peek())) {
        values.push(this.#take())
        if (this.#peek() !== ',' && this.#peek() !== ')') throw this.#unexpected("expected: ',' or ')'")
      } else if (this.#peek() === ',') {
        this.#position += 1
        if (values.length === 0 || this.#peek() === ',' || this.#peek() === ')') values.push('')
      } else {
        throw this.#unexpected("expected: ',', or identifier")
      }
      if (this.#peek() === ')') {
        this.#position += 1
        return values
      }
    }
  }
}
