/** From the text of an expression to a program: parsed, checked, its constants looked at, its cost estimated. */
import { type Expr, walk } from './ast.ts'
import { check, type Environment } from './check.ts'
import { checkConstants } from './constants.ts'
import { estimateCost, type SizeEstimator } from './estimate.ts'
import { CelFailure } from './failures.ts'
import { parseExpression } from './parse.ts'
import { type Program, plan } from './plan.ts'
import type { CelType } from './types.ts'

export interface CompileOptions {
  readonly environment: Environment
  readonly sizeAt: SizeEstimator
}

export interface Compiled {
  readonly program: Program
  readonly type: CelType
  /** The most that it can cost by its schema. */
  readonly cost: number
  readonly variables: ReadonlySet<string>
}

/** What is wrong with it; `isInstance` where it is right, but fails with its constants. */
export interface CompileProblem {
  readonly problem: string
  readonly isInstance?: boolean
  /** What could be found out of it nevertheless. */
  readonly variables?: ReadonlySet<string>
  readonly type?: CelType
}

/** What is wrong with it, or the program. */
export function compile(source: string, options: CompileOptions): Compiled | CompileProblem {
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
