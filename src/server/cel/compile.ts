/** Compiles an expression to a program: parses it, checks it, validates its constants and estimates its cost. */
import { type Expr, walk } from './ast.ts'
import { check, type Environment } from './check.ts'
import { checkConstants } from './constants.ts'
import { estimateCost, type SizeEstimator } from './estimate.ts'
import { CelFailure } from './failures.ts'
import { parseExpression } from './parse.ts'
import { type Program, plan } from './plan.ts'
import type { CelType } from './types.ts'

export interface CelCompileOptions {
  readonly environment: Environment
  readonly sizeAt: SizeEstimator
}

export interface CompiledExpression {
  readonly program: Program
  readonly type: CelType
  /** Maximum cost, estimated from the sizes in the schema. */
  readonly cost: number
  readonly variables: ReadonlySet<string>
}

/** An error. `isInstance` is true if the expression type-checks but fails while constants are evaluated. */
export interface CompileProblem {
  readonly problem: string
  readonly isInstance?: boolean
  /** Facts that were determined before the error. */
  readonly variables?: ReadonlySet<string>
  readonly type?: CelType
}

/** The program or the error. */
export function compile(source: string, options: CelCompileOptions): CompiledExpression | CompileProblem {
  const { environment, sizeAt } = options
  const { expr, issues } = parseExpression(source)
  if (!expr || !issues.isEmpty) return { problem: issues.format() }
  check(expr, environment, issues)
  if (issues.isEmpty) checkConstants(expr, environment, issues)
  if (!issues.isEmpty) return { problem: issues.format() }
  const variables = [...environment.variables.keys()]
  const used = usedVariables(expr, new Set(variables))
  const program = instantiate(expr, environment, variables)
  if ('problem' in program) return { ...program, variables: used, type: expr.type! }
  return { program, type: expr.type!, cost: estimateCost(expr, sizeAt).max, variables: used }
}

function instantiate(expr: Expr, { functions }: Environment, variables: readonly string[]): Program | CompileProblem {
  try {
    return plan(expr, { functions, variables })
  } catch (error) {
    if (error instanceof CelFailure) return { problem: error.message, isInstance: true }
    throw error
  }
}

function usedVariables(root: Expr, known: ReadonlySet<string>): ReadonlySet<string> {
  const used = new Set<string>()
  walk(root, (expr) => {
    if (expr.kind === 'ident' && known.has(expr.name.replace(/^\./, ''))) used.add(expr.name.replace(/^\./, ''))
  })
  return used
}
