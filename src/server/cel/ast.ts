/**
 * Expressions as trees, macros already expanded. Made by parse.ts and macros.ts; check.ts writes down what it finds out
 * (the type of each node, the overloads of each call), which estimate.ts and plan.ts read.
 */
import type { CelType } from './types.ts'
import type { CelValue } from './values.ts'

interface Node {
  /** Where it stands in the source, in UTF-16 units: at the operator, the dot or the bracket, as cel-go has it. */
  readonly at: number
  /** Set by the checker. */
  type?: CelType
}

export interface Literal extends Node {
  readonly kind: 'literal'
  readonly value: CelValue
}

export interface Ident extends Node {
  readonly kind: 'ident'
  readonly name: string
}

export interface Select extends Node {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  /** `has(a.b)`: whether it is there. */
  readonly isTest: boolean
  /** Where the whole is the name of a variable: `authorizer.requestResource`. Set by the checker. */
  variable?: string
}

export interface Call extends Node {
  readonly kind: 'call'
  /** Changed by the checker where the target turns out to be the first part of the name: `ip.isCanonical`. */
  name: string
  target: Expr | undefined
  /** `&&` and `||` have as many as were written in a row; all others as their overloads say. */
  readonly args: readonly Expr[]
  /** The ids of the overloads that may be meant. Set by the checker. */
  overloads?: readonly string[]
}

export interface List extends Node {
  readonly kind: 'list'
  readonly elements: readonly Expr[]
  /** Of `[?a, b]`: the places of optional elements. */
  readonly optionals: ReadonlySet<number>
}

export interface Entry {
  readonly key: Expr
  readonly value: Expr
  readonly isOptional: boolean
}

export interface MapLiteral extends Node {
  readonly kind: 'map'
  readonly entries: readonly Entry[]
}

/** `Type{field: value}`. No type that rules know can be made so; kept to say so in the words of the real server. */
interface Message extends Node {
  readonly kind: 'message'
  readonly name: string
  readonly values: readonly Expr[]
}

/** What all comprehensions become: a value that every element of a range changes. */
export interface Fold extends Node {
  readonly kind: 'fold'
  readonly range: Expr
  readonly variable: string
  /** The value beside the key or the index, in comprehensions of two variables. */
  readonly variable2: string | undefined
  readonly accumulator: string
  readonly initial: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
}

export type Expr = Literal | Ident | Select | Call | List | MapLiteral | Message | Fold

/** A name that no source can spell. */
export const accumulatorName = '@result'

export const literal = (at: number, value: CelValue): Literal => ({ kind: 'literal', at, value })
export const ident = (at: number, name: string): Ident => ({ kind: 'ident', at, name })
export const call = (at: number, name: string, args: readonly Expr[], target?: Expr): Call => ({
  kind: 'call',
  at,
  name,
  target,
  args,
})
export const list = (at: number, elements: readonly Expr[], optionals: ReadonlySet<number> = new Set()): List => ({
  kind: 'list',
  at,
  elements,
  optionals,
})

/** `a.b.c` as one name, where it is nothing but names. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name
  if (expr.kind !== 'select' || expr.isTest) return undefined
  const operand = qualifiedName(expr.operand)
  return operand === undefined ? undefined : `${operand}.${expr.field}`
}

export function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'select':
      return [expr.operand]
    case 'call':
      return expr.target ? [expr.target, ...expr.args] : expr.args
    case 'list':
      return expr.elements
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'message':
      return expr.values
    case 'fold':
      return [expr.range, expr.initial, expr.condition, expr.step, expr.result]
    default:
      return []
  }
}

/** The node and all below it. */
export function walk(expr: Expr, visit: (expr: Expr) => void): void {
  visit(expr)
  for (const part of partsOf(expr)) walk(part, visit)
}
