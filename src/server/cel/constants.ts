/**
 * Checks of constants at compile time: durations, timestamps and patterns must parse, list and map literals must have elements
 * of one type. Called by compile.ts after type checking.
 */
import { type CallExpr, type Expr, partsOf, walk } from './ast.ts'
import type { Environment } from './check.ts'
import { CelFailure, Meter } from './failures.ts'
import { matches } from './functions.ts'
import { formatCheckProblem } from './library/format-check.ts'
import { compileCelPattern } from './library/strings.ts'
import type { Issues } from './source.ts'
import { type CelType, formatType, isSameType, unwrapOptional } from './types.ts'
import type { CelValue } from './values.ts'

export function checkConstants(root: Expr, environment: Environment, issues: Issues): void {
  for (const name of ['duration', 'timestamp', 'matches']) {
    walk(root, (expr) => {
      if (expr.kind !== 'call' || expr.name !== name) return
      const [argument] = expr.args
      if (argument?.kind !== 'literal' || isValid(expr, argument.value, environment)) return
      issues.report(argument.at, `invalid ${name} argument`)
    })
  }
  walkUnformatted(root, (expr) => checkHomogeneous(expr, issues))
  walk(root, (expr) => {
    if (expr.kind !== 'call' || expr.name !== 'format' || !expr.target) return
    const problem = formatCheckProblem(expr.target, expr.args[0]!, expr.at)
    if (problem) issues.report(problem.at, problem.message)
  })
}

function isValid({ name }: CallExpr, value: CelValue, { functions }: Environment): boolean {
  try {
    if (name === 'matches') compileCelPattern(value as string)
    else
      functions
        .get(name)!
        .find((overload) => matches(overload, [value]))!
        .run([value], new Meter(1000))
    return true
  } catch (error) {
    if (error instanceof CelFailure) return false
    throw error
  }
}

/** List arguments of `format` may mix types. */
function walkUnformatted(expr: Expr, visit: (expr: Expr) => void): void {
  if (expr.kind === 'call' && expr.name === 'format') return
  visit(expr)
  for (const part of partsOf(expr)) walkUnformatted(part, visit)
}

function checkHomogeneous(expr: Expr, issues: Issues): void {
  if (expr.kind === 'list') {
    const { elements, optionals } = expr
    firstMismatch(
      elements.map((element, index) => ({ at: element.at, type: typeOf(element, optionals.has(index)) })),
      issues,
    )
  }
  if (expr.kind !== 'map') return
  firstMismatch(
    expr.entries.map(({ key }) => ({ at: key.at, type: key.type! })),
    issues,
  )
  firstMismatch(
    expr.entries.map(({ value, isOptional }) => ({ at: value.at, type: typeOf(value, isOptional) })),
    issues,
  )
}

const typeOf = (expr: Expr, isOptional: boolean): CelType => (isOptional ? unwrapOptional(expr.type!).type : expr.type!)

function firstMismatch(elements: ReadonlyArray<{ readonly at: number; readonly type: CelType }>, issues: Issues): void {
  const expected = elements[0]?.type
  const wrong = elements.find(({ type }) => !isSameType(type, expected!))
  if (wrong) issues.report(wrong.at, `expected type '${formatType(expected!)}' but found '${formatType(wrong.type)}'`)
}
