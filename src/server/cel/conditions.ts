/**
 * Match conditions of webhooks (`matchConditions`): compiled when the configuration is validated, and again when requests
 * arrive. Failures are handled by webhooks/conditions.ts.
 */
import { compile } from './compile.ts'
import { environmentOf } from './environment.ts'
import { CelFailure, CostExceeded, Meter, WorkBudget } from './failures.ts'
import {
  type Authorize,
  authorizerType,
  authorizerValue,
  requestResourceValue,
  resourceType,
} from './library/authorizer.ts'
import type { Program } from './plan.ts'
import { requestType, toDynamic } from './request-values.ts'
import { dynType, formatType, struct } from './types.ts'
import type { CelValue } from './values.ts'

/** A CEL expression. The webhook is called only if all conditions are true. */
export interface MatchCondition {
  readonly name: string
  readonly expression: string
}

/** Variables of the expressions: the objects as sent to the webhook, and the AdmissionRequest. */
interface ConditionInput {
  readonly object: unknown
  readonly oldObject: unknown
  readonly request: Readonly<Record<string, unknown>>
  readonly authorize: Authorize
}

type ConditionResult =
  | { readonly matches: boolean }
  /** One error message per failed condition, in the real server's words. */
  | { readonly errors: readonly string[] }

/** Cost limits: for all conditions of one webhook, and for each condition. */
const totalLimit = 2_500_000
const perConditionLimit = 1_000_000

const variables = new Map([
  ['object', dynType],
  ['oldObject', dynType],
  // Declared for the type checker; always null for webhooks.
  [
    'namespaceObject',
    struct('kubernetes.Namespace', new Map(['metadata', 'spec', 'status'].map((name) => [name, dynType]))),
  ],
  ['request', requestType],
  ['authorizer', authorizerType],
  ['authorizer.requestResource', resourceType],
])

export interface CompiledConditions {
  /** The error of each condition; undefined if it is valid. */
  readonly problems: ReadonlyArray<string | undefined>
  evaluate(input: ConditionInput): ConditionResult
}

export function compileConditions(conditions: readonly MatchCondition[]): CompiledConditions {
  const compiled = conditions.map(({ expression }) => compileOne(expression))
  const problems = compiled.map((one) => ('problem' in one ? one.problem : undefined))
  return {
    problems,
    evaluate: (input) => evaluateAll(conditions, compiled, input),
  }
}

type CompiledCondition = { readonly program: Program } | { readonly problem: string }

function compileOne(expression: string): CompiledCondition {
  const compiled = compile(expression, { environment: environmentOf(variables), sizeAt: () => undefined })
  if ('problem' in compiled) {
    return { problem: `${compiled.isInstance ? 'program instantiation' : 'compilation'} failed: ${compiled.problem}` }
  }
  if (compiled.type.kind === 'bool') return compiled
  return { problem: `must evaluate to bool but got ${formatType(compiled.type)}` }
}

/** A condition that is false takes precedence over failed conditions. */
function evaluateAll(
  conditions: readonly MatchCondition[],
  compiled: readonly CompiledCondition[],
  input: ConditionInput,
): ConditionResult {
  const values = valuesOf(input)
  const errors: string[] = []
  const work = new WorkBudget()
  let remaining = totalLimit
  for (const [index, { expression }] of conditions.entries()) {
    const one = compiled[index]!
    if ('problem' in one) {
      errors.push(`compilation error: ${one.problem}`)
      continue
    }
    const { value, failure, cost } = evaluateOne(one.program, values, work)
    remaining -= cost
    if (remaining < 0) {
      const words = 'validation failed due to running out of cost budget, no further validation rules will be run'
      return { errors: [words] }
    }
    if (failure !== undefined) errors.push(`expression '${expression}' resulted in error: ${failure}`)
    else if (value === false) return { matches: false }
  }
  return errors.length > 0 ? { errors } : { matches: true }
}

function valuesOf({ object, oldObject, request, authorize }: ConditionInput): CelValue[] {
  const { namespace, name, resource, subResource } = request as Record<string, string> & {
    readonly resource: { readonly group: string; readonly resource: string }
  }
  const query = {
    group: resource.group,
    resource: resource.resource,
    ...(subResource ? { subresource: subResource } : {}),
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
  }
  return [
    toDynamic(object),
    toDynamic(oldObject),
    null,
    toDynamic(request),
    authorizerValue(authorize),
    requestResourceValue(authorize, query),
  ]
}

function evaluateOne(
  program: Program,
  values: readonly CelValue[],
  work: WorkBudget,
): { readonly value?: CelValue; readonly failure?: string; readonly cost: number } {
  const meter = new Meter(perConditionLimit, work)
  try {
    return { value: program.evaluate(values, meter), cost: meter.cost }
  } catch (error) {
    if (error instanceof CelFailure || error instanceof CostExceeded)
      return { failure: error.message, cost: meter.cost }
    throw error
  }
}
