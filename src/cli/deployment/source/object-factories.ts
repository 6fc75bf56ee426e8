/**
 * Finds functions in the source that return an object, such as `function deploymentOf(name) { return { apiVersion, kind, … } }`: operators create
 * their children in such functions. Called by source-values.ts. Pure.
 */
import { afterTypeArguments, closingOf, type SourceToken } from './source-tokens.ts'

/** A function that returns an object: its name, and the positions of its declaration and of the returned expression. */
export interface ObjectFactory {
  readonly name: string
  /** The position of the name in the declaration. */
  readonly declaredAt: number
  readonly returnsAt: number
}

export function findFactories(tokens: readonly SourceToken[]): readonly ObjectFactory[] {
  return tokens.flatMap(({ type, text }, declaredAt) => {
    const parameters = type === 'name' ? findParameters(tokens, declaredAt) : undefined
    if (parameters === undefined) return []
    const isFunction = tokens[declaredAt - 1]!.text === 'function'
    const found = findMark(tokens, closingOf(tokens, parameters) + 1, isFunction ? '{' : '=>')
    if (found === undefined) return []
    const returnsAt = findReturned(tokens, isFunction ? found : found + 1)
    if (returnsAt === undefined || isParameter(tokens, parameters, returnsAt)) return []
    return [{ name: text, declaredAt, returnsAt }]
  })
}

/** The position of the opening bracket in `function name<T>( … )` or `const name = ( … ) =>`. */
function findParameters(tokens: readonly SourceToken[], nameAt: number): number | undefined {
  const before = tokens[nameAt - 1]?.text ?? ''
  const isArrow = /^(const|let|var)$/.test(before) && tokens[nameAt + 1]?.text === '='
  if (!isArrow && before !== 'function') return undefined
  const open = isArrow ? nameAt + 2 : afterTypeArguments(tokens, nameAt + 1)
  return tokens[open]?.text === '(' ? open : undefined
}

/** Whether the function returns one of its parameters, adopted or not: the kind of the object is then not known from the function. */
function isParameter(tokens: readonly SourceToken[], parameters: number, returnsAt: number): boolean {
  let position = returnsAt
  while (tokens[position]?.text === 'adopt' && tokens[position + 1]?.text === '(') position += 2
  const { type, text } = tokens[position] ?? {}
  const given = tokens.slice(parameters, closingOf(tokens, parameters))
  return type === 'name' && given.some((one) => one.type === 'name' && one.text === text)
}

/** The position of the mark after the parameters: immediately, or after a return type without braces. */
function findMark(tokens: readonly SourceToken[], from: number, mark: string): number | undefined {
  for (let position = from; position < tokens.length; position += 1) {
    const { type, text } = tokens[position]!
    if (type === 'mark' && text === mark) return position
    if (type === 'mark' && /^[;{}()=]$/.test(text)) return undefined
  }
  return undefined
}

/** The position of the returned expression. Undefined for functions with more than one `return`. */
function findReturned(tokens: readonly SourceToken[], body: number): number | undefined {
  if (tokens[body]?.text === '(' && tokens[body + 1]?.text === '{') return body + 1
  if (tokens[body]?.text !== '{') return body
  const end = closingOf(tokens, body)
  let returnsAt: number | undefined
  for (let position = body + 1; position < end; position += 1) {
    const { type, text } = tokens[position]!
    if (type !== 'name' || text !== 'return') continue
    if (returnsAt !== undefined) return undefined
    returnsAt = position + 1
  }
  return returnsAt
}
