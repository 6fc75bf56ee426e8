/**
 * Functions of the source that return an object, such as `function deploymentOf(name) { return { apiVersion, kind, … } }`: operators build
 * their children in such functions. Called by source-values.ts. Pure.
 */
import { afterTypeArguments, closingOf, type Token } from './source-tokens.ts'

/** What a call of the function stands for: the expression that it returns, which begins and is read at this position. */
export interface Maker {
  readonly name: string
  /** Of the name, where the function is declared. */
  readonly declaredAt: number
  readonly returnsAt: number
}

export function findMakers(tokens: readonly Token[]): readonly Maker[] {
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

/** The bracket of `function name<T>( … )`, or of `const name = ( … ) =>`. */
function findParameters(tokens: readonly Token[], nameAt: number): number | undefined {
  const before = tokens[nameAt - 1]?.text ?? ''
  const isArrow = /^(const|let|var)$/.test(before) && tokens[nameAt + 1]?.text === '='
  if (!isArrow && before !== 'function') return undefined
  const open = isArrow ? nameAt + 2 : afterTypeArguments(tokens, nameAt + 1)
  return tokens[open]?.text === '(' ? open : undefined
}

/** Whether the function returns what it was given, adopted or not: that is known at each call, if at all. */
function isParameter(tokens: readonly Token[], parameters: number, returnsAt: number): boolean {
  let position = returnsAt
  while (tokens[position]?.text === 'adopt' && tokens[position + 1]?.text === '(') position += 2
  const { type, text } = tokens[position] ?? {}
  const given = tokens.slice(parameters, closingOf(tokens, parameters))
  return type === 'name' && given.some((one) => one.type === 'name' && one.text === text)
}

/** The mark in the rest of a declaration: at once, or after a type that has no braces. */
function findMark(tokens: readonly Token[], from: number, mark: string): number | undefined {
  for (let position = from; position < tokens.length; position += 1) {
    const { type, text } = tokens[position]!
    if (type === 'mark' && text === mark) return position
    if (type === 'mark' && /^[;{}()=]$/.test(text)) return undefined
  }
  return undefined
}

/** Where the only `return` of a body has its expression. Functions that return one thing or another are not plain. */
function findReturned(tokens: readonly Token[], body: number): number | undefined {
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
