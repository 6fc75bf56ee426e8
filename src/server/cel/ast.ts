/**
 * Expression trees with expanded macros, created by parse.ts and macros.ts. check.ts sets the type of each node and the
 * overloads of each call, which estimate.ts and plan.ts read.
 */
import type { CelType } from './types.ts'
import type { CelValue } from './values.ts'

interface ExprNode {
  /** Position in the source in UTF-16 units: of the operator, the dot or the bracket, as in cel-go. */
  readonly at: number
  /** Set by the checker. */
  type?: CelType
}

export interface Literal extends ExprNode {
  readonly kind: 'literal'
  readonly value: CelValue
}

export interface Ident extends ExprNode {
  readonly kind: 'ident'
  readonly name: string
}

export interface Select extends ExprNode {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  /** True for `has(a.b)`, a presence test. */
  readonly isTest: boolean
  /** Set by the checker if the whole expression is a variable with a qualified name, such as `authorizer.requestResource`. */
  variable?: string
}

export interface CallExpr extends ExprNode {
  readonly kind: 'call'
  /** The checker changes it if the target is a namespace of the function, as in `ip.isCanonical`. */
  name: string
  target: Expr | undefined
  /** `&&` and `||` have as many arguments as terms in a row; other functions have those of their overloads. */
  readonly args: readonly Expr[]
  /** Ids of the possible overloads. Set by the checker. */
  overloads?: readonly string[]
}

export interface ListLiteral extends ExprNode {
  readonly kind: 'list'
  readonly elements: readonly Expr[]
  /** Indexes of the optional elements, as in `[?a, b]`. */
  readonly optionals: ReadonlySet<number>
}

export interface MapEntry {
  readonly key: Expr
  readonly value: Expr
  readonly isOptional: boolean
}

export interface MapLiteral extends ExprNode {
  readonly kind: 'map'
  readonly entries: readonly MapEntry[]
}

/** `Type{field: value}`. No type available to rules can be constructed; the node exists for the real server's error message. */
interface MessageLiteral extends ExprNode {
  readonly kind: 'message'
  readonly name: string
  readonly values: readonly Expr[]
}

/** The expansion of all comprehensions: an accumulator that each element of a range updates. */
export interface Fold extends ExprNode {
  readonly kind: 'fold'
  readonly range: Expr
  readonly variable: string
  /** The value, beside the key or index, in comprehensions with two variables. */
  readonly variable2: string | undefined
  readonly accumulator: string
  readonly initial: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
}

export type Expr = Literal | Ident | Select | CallExpr | ListLiteral | MapLiteral | MessageLiteral | Fold

/** A name that no source can contain. */
export const accumulatorName = '@result'

export const literal = (at: number, value: CelValue): Literal => ({ kind: 'literal', at, value })
export const ident = (at: number, name: string): Ident => ({ kind: 'ident', at, name })
export const call = (at: number, name: string, args: readonly Expr[], target?: Expr): CallExpr => ({
  kind: 'call',
  at,
  name,
  target,
  args,
})
export const list = (
  at: number,
  elements: readonly Expr[],
  optionals: ReadonlySet<number> = new Set(),
): ListLiteral => ({
  kind: 'list',
  at,
  elements,
  optionals,
})

/** `a.b.c` as one name; undefined if the expression contains anything but names. */
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

/** Visits the node and all its descendants. */
export function walk(expr: Expr, visit: (expr: Expr) => void): void {
  visit(expr)
  for (const part of partsOf(expr)) walk(part, visit)
}
