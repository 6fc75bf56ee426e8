/**
 * Label selectors: parses and formats requirements, and matches labels. Follows the rules of apimachinery's `labels` package, whose
 * messages clients see. Other files use selectors.ts.
 */
import { toBoundedBigInt } from '../util/text/bounded-integers.ts'
import { type FieldError, formatFieldError, invalid } from './field-errors.ts'
import { labelValueProblems, qualifiedNameProblems } from './names.ts'

export type SelectorOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<'

/** Labels of an object. Keys come from clients, so only own properties may be read. */
export type Labels = Readonly<Record<string, string>>

export interface LabelRequirement {
  readonly key: string
  readonly operator: SelectorOperator
  readonly values: readonly string[]
}

/** A selector that cannot be parsed; the message is kube-apiserver's. */
export class SelectorError extends Error {}

/** Creates a requirement, or throws a SelectorError if key or values are invalid. */
export function createRequirement(
  key: string,
  operator: SelectorOperator,
  values: readonly string[],
): LabelRequirement {
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

function countErrors(operator: SelectorOperator, values: readonly string[]): FieldError[] {
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

/** Missing labels satisfy `!=` and `notin`, but neither `>` nor `<`. */
export function isMet({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
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

export function formatRequirement({ key, operator, values }: LabelRequirement): string {
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

/** The symbols and words of a selector; '' marks the end. */
function tokenize(text: string): string[] {
  const tokens: string[] = []
  // Two symbols form one token only for `==` and `!=`. A NUL after a token is skipped; a NUL at the start of a token is the end of input
  // for kube-apiserver.
  for (const [token] of text.matchAll(/(?:==|!=|[=!(),><]|[^=!(),>< \t\r\n\0]+)\0?|\0/g)) {
    if (token === '\0') break
    tokens.push(token.replace('\0', ''))
  }
  return [...tokens, '']
}

function isWord(token: string): boolean {
  return token !== '' && !symbols.has(token)
}

/** Parses all requirements of a selector, sorted by key. */
export function parseRequirements(text: string): LabelRequirement[] {
  return new SelectorParser(tokenize(text)).parse().sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

const binaryOperators: readonly string[] = ['in', 'notin', '=', '==', '!=', '>', '<']

class SelectorParser {
  readonly #tokens: readonly string[]
  #position = 0

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = []
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

  #parseRequirement(): LabelRequirement {
    try {
      return this.#parseKeyAndRest()
    } catch (error) {
      if (error instanceof SelectorError) throw new SelectorError(`unable to parse requirement: ${error.message}`)
      throw error
    }
  }

  #parseKeyAndRest(): LabelRequirement {
    const isNegated = this.#peek() === '!'
    if (isNegated) this.#position += 1
    if (!isWord(this.#peek())) throw this.#unexpected('expected: identifier')
    const key = this.#take()
    const problems = qualifiedNameProblems(key)
    if (problems.length > 0) throw new SelectorError(formatFieldError(invalid('<nil>', key, problems.join('; '))))
    const isAlone = this.#peek() === '' || this.#peek() === ','
    // kube-apiserver also accepts anything after `!key` here; the caller rejects the next token.
    if (isNegated || isAlone) return createRequirement(key, isNegated ? '!' : 'exists', [])
    const operator = this.#parseOperator()
    const values = operator === 'in' || operator === 'notin' ? this.#parseValues() : [this.#parseExactValue()]
    return createRequirement(key, operator, [...new Set(values)].sort())
  }

  #parseOperator(): SelectorOperator {
    if (!binaryOperators.includes(this.#peek())) throw this.#unexpected('expected: in, notin, =, ==, !=, gt, lt')
    return this.#take() as SelectorOperator
  }

  #parseExactValue(): string {
    if (this.#peek() === '' || this.#peek() === ',') return ''
    if (!isWord(this.#peek())) throw this.#unexpected('expected: identifier')
    return this.#take()
  }

  /** A list in parentheses. An empty place between commas is the empty value. */
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
