/**
 * Compiles the rules of a schema node (`x-kubernetes-validations`). Used by CRD validation for their errors and estimated
 * costs, and by rule-validator.ts, which runs them.
 */
import type { JsonSchema, ValidationRule } from '../schema/structural.ts'
import { type CompiledExpression, type CompileProblem, compile } from './compile.ts'
import { environmentOf } from './environment.ts'
import type { Program } from './plan.ts'
import { maxRequestBytes, type SchemaType, schemaType, typeAtPath } from './schema-types.ts'
import { optionalOf } from './types.ts'

export interface CompiledValidationRule {
  readonly rule: ValidationRule
  /** Absent if the rule is empty or does not compile. */
  readonly program?: Program
  readonly problem?: string
  readonly usesOldSelf: boolean
  readonly cost: number
  readonly message?: Program
  readonly messageProblem?: string
  readonly messageCost: number
}

export interface CompiledRules {
  readonly rules: readonly CompiledValidationRule[]
  /** Maximum number of such values in one object if the schema sets no bounds. */
  readonly cardinality: number
}

/** Undefined if rules cannot see the schema. `isRoot` is true for resources, including embedded resources. */
export function compileRules(schema: JsonSchema, isRoot: boolean): CompiledRules | undefined {
  const type = schemaType(schema, isRoot, 'selfType')
  if (!type) return undefined
  return {
    rules: (schema['x-kubernetes-validations'] ?? []).map((rule) => compileRule(rule, type)),
    cardinality: Math.floor(maxRequestBytes / (type.minSize + 1)),
  }
}

function compileRule(rule: ValidationRule, self: SchemaType): CompiledValidationRule {
  const none = { rule, usesOldSelf: false, cost: 0, messageCost: 0 }
  if (rule.rule.trim() === '') return none
  const compiled = compileWith(rule.rule, rule, self)
  if (compiled.type && compiled.type.kind !== 'bool') {
    return { ...none, problem: 'cel expression must evaluate to a bool' }
  }
  if ('problem' in compiled) {
    const stage = compiled.isInstance ? 'program instantiation' : 'compilation'
    const usesOldSelf = compiled.variables?.has('oldSelf') ?? false
    return { ...none, usesOldSelf, problem: `${stage} failed: ${compiled.problem}` }
  }
  const { program, cost, variables } = compiled
  return { ...none, program, cost, usesOldSelf: variables.has('oldSelf'), ...compileMessage(rule, self) }
}

function compileMessage(
  rule: ValidationRule,
  self: SchemaType,
): Pick<CompiledValidationRule, 'message' | 'messageProblem' | 'messageCost'> {
  const { messageExpression = '' } = rule
  if (messageExpression === '') return { messageCost: 0 }
  const compiled = compileWith(messageExpression, rule, self)
  if (compiled.type && compiled.type.kind !== 'string') {
    return { messageProblem: 'messageExpression must evaluate to a string', messageCost: 0 }
  }
  if ('problem' in compiled) {
    const stage = compiled.isInstance ? 'instantiation' : 'compilation'
    return { messageProblem: `messageExpression ${stage} failed: ${compiled.problem}`, messageCost: 0 }
  }
  return { message: compiled.program, messageCost: compiled.cost }
}

function compileWith(
  source: string,
  { optionalOldSelf }: ValidationRule,
  self: SchemaType,
): CompiledExpression | CompileProblem {
  const variables = new Map([
    ['self', self.type],
    ['oldSelf', optionalOldSelf ? optionalOf(self.type) : self.type],
  ])
  // Ignores the first path element, the variable: `oldSelf` has the same sizes as `self`.
  const sizeAt = (path: readonly string[]) => {
    const found = typeAtPath(self, path.slice(1))
    return found && { min: 0, max: found.maxElements }
  }
  return compile(source, { environment: environmentOf(variables), sizeAt })
}
