/**
 * The rules of one node of a schema (`x-kubernetes-validations`), compiled. Used when a CRD is judged, for what is wrong with
 * them and what they may cost, and by rule-validator.ts, which runs them.
 */
import type { JsonSchema, ValidationRule } from '../schema/structural.ts'
import { type Compiled, type CompileProblem, compile } from './compile.ts'
import { environmentOf } from './environment.ts'
import type { Program } from './plan.ts'
import { maxRequestBytes, type SchemaType, schemaType, typeAtPath } from './schema-types.ts'
import { optionalOf } from './types.ts'

export interface CompiledRule {
  readonly rule: ValidationRule
  /** Absent where it could not be compiled, or is empty. */
  readonly program?: Program
  readonly problem?: string
  readonly usesOldSelf: boolean
  readonly cost: number
  readonly message?: Program
  readonly messageProblem?: string
  readonly messageCost: number
}

export interface CompiledRules {
  readonly rules: readonly CompiledRule[]
  /** How often such a value can be in one object at most, where nothing bounds it. */
  readonly cardinality: number
}

/** Undefined where rules see nothing of the schema. `isRoot` is true for resources, embedded ones too. */
export function compileRules(schema: JsonSchema, isRoot: boolean): CompiledRules | undefined {
  const type = schemaType(schema, isRoot, 'selfType')
  if (!type) return undefined
  return {
    rules: (schema['x-kubernetes-validations'] ?? []).map((rule) => compileRule(rule, type)),
    cardinality: Math.floor(maxRequestBytes / (type.minSize + 1)),
  }
}

function compileRule(rule: ValidationRule, self: SchemaType): CompiledRule {
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
): Pick<CompiledRule, 'message' | 'messageProblem' | 'messageCost'> {
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

function compileWith(source: string, { optionalOldSelf }: ValidationRule, self: SchemaType): Compiled | CompileProblem {
  const variables = new Map([
    ['self', self.type],
    ['oldSelf', optionalOldSelf ? optionalOf(self.type) : self.type],
  ])
  // What a path starts from is not looked at: `oldSelf` is as large as `self`.
  const sizeAt = (path: readonly string[]) => {
    const found = typeAtPath(self, path.slice(1))
    return found && { min: 0, max: found.maxElements }
  }
  return compile(source, { environment: environmentOf(variables), sizeAt })
}
