/**
 * Compiles the CEL rules of a schema and estimates their cost, as the real server does when a CRD is written. Called by
 * validate-schema.ts for structural schemas.
 */
import { isPlainObject } from '../../util/json/json.ts'
import { celEngine } from '../cel/lazy.ts'
import { type FieldError, forbidden, invalid } from '../field-errors.ts'
import type { JsonSchema } from '../schema/structural.ts'
import { hasSchema } from './completeness.ts'
import { printRule } from './go-print.ts'

const ruleLimit = 10_000_000
const schemaLimit = 100_000_000
const advice =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'

export interface RuleCheckOptions {
  /** Errors of the schema; rules below a path with errors are not compiled. */
  readonly schemaErrors: readonly FieldError[]
  /** Rules of an unchanged schema are not rejected for their cost. */
  readonly isUnchanged: boolean
}

export function checkRules(root: JsonSchema, path: string, options: RuleCheckOptions): FieldError[] {
  if (!hasSchema(root, (one) => (one['x-kubernetes-validations'] ?? []).length > 0)) return []
  const total = new TotalCost()
  const errors = checkNode(
    { schema: root, path, isRoot: true, cardinality: 1, uncorrelatable: undefined },
    options,
    total,
  )
  return [...errors, ...total.errors(path)]
}

interface RuleSchemaNode {
  readonly schema: JsonSchema
  readonly path: string
  readonly isRoot: boolean
  /** Maximum number of such values in an object; undefined if unbounded. */
  readonly cardinality: number | undefined
  /** Path of the enclosing list whose items cannot be correlated with old items. */
  readonly uncorrelatable: string | undefined
}

/** Descendants are checked before the node itself. */
function checkNode(node: RuleSchemaNode, options: RuleCheckOptions, total: TotalCost): FieldError[] {
  const { schema, path } = node
  const cardinality = cardinalityBelow(node)
  const below = (child: unknown, suffix: string, uncorrelatable = node.uncorrelatable): FieldError[] => {
    if (!isPlainObject(child)) return []
    const one = { schema: child as JsonSchema, path: `${path}${suffix}`, isRoot: false, cardinality, uncorrelatable }
    return checkNode(one, options, total)
  }
  const list = schema['x-kubernetes-list-type'] === 'map' ? undefined : path
  return [
    ...below(schema.additionalProperties, '.additionalProperties'),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => below(child, `.properties[${name}]`)),
    ...below(schema.items, '.items', node.uncorrelatable ?? list),
    ...checkOwn(node, options, total),
  ]
}

function cardinalityBelow({ schema, cardinality }: RuleSchemaNode): number | undefined {
  const { type, maxItems, maxProperties, additionalProperties } = schema
  const isMap = type === 'object' && additionalProperties !== undefined
  if (cardinality === undefined || (type !== 'array' && !isMap)) return cardinality
  const limit = type === 'array' ? maxItems : maxProperties
  return limit === undefined ? undefined : cardinality * Math.max(limit, 0)
}

function checkOwn(node: RuleSchemaNode, options: RuleCheckOptions, total: TotalCost): FieldError[] {
  const { schema, path, isRoot } = node
  const own = schema['x-kubernetes-validations'] ?? []
  if (own.length === 0 || options.schemaErrors.some(({ field }) => field.startsWith(path))) return []
  const compiled = celEngine().compileRules(schema, isRoot || (schema['x-kubernetes-embedded-resource'] ?? false))
  if (!compiled) return [untyped(`${path}.x-kubernetes-validations`)]
  return compiled.rules.flatMap((rule, index) => {
    const field = `${path}.x-kubernetes-validations[${index}]`
    const cost = rule.cost * (node.cardinality ?? compiled.cardinality)
    return checkRule(rule, { node, field, cost }, options, total)
  })
}

function untyped(field: string): FieldError {
  const why = 'failed to construct type information for x-kubernetes-validations rules'
  const body = `Internal error: internal error: ${why}: unable to convert structural schema to CEL declarations`
  return { type: 'InternalError', field, body }
}

type CheckedRule = NonNullable<ReturnType<ReturnType<typeof celEngine>['compileRules']>>['rules'][number]

interface RuleLocation {
  readonly node: RuleSchemaNode
  readonly field: string
  readonly cost: number
}

function checkRule(
  compiled: CheckedRule,
  place: RuleLocation,
  options: RuleCheckOptions,
  total: TotalCost,
): FieldError[] {
  const { rule, problem, messageProblem, messageCost, message, usesOldSelf } = compiled
  const { node, field, cost } = place
  const errors: FieldError[] = []
  const check = (name: string, what: string, spent: number): void => {
    total.add(`${field}.${name}`, spent)
    if (spent > ruleLimit && !options.isUnchanged)
      errors.push(forbidden(`${field}.${name}`, costMessage(what, spent, ruleLimit)))
  }
  const wrong = (name: string, detail: string): void => {
    errors.push({
      type: 'FieldValueInvalid',
      field: `${field}.${name}`,
      body: `Invalid value: ${printRule(rule)}: ${detail}`,
    })
  }
  check('rule', 'estimated rule cost', cost)
  if (problem !== undefined) wrong('rule', problem)
  if (messageProblem !== undefined) wrong('messageExpression', messageProblem)
  else if (message) check('messageExpression', 'estimated messageExpression cost', messageCost)
  if (usesOldSelf && node.uncorrelatable !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${node.uncorrelatable}`
    errors.push(invalid(`${field}.rule`, rule.rule, detail))
  }
  if (!usesOldSelf && rule.optionalOldSelf !== undefined) {
    errors.push(
      invalid(`${field}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
    )
  }
  return errors
}

function costMessage(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`
  return `${what} exceeds budget by factor of ${shown} ${advice}`
}

/** Total cost of all rules of a schema, with the most expensive rules. */
class TotalCost {
  #total = 0
  readonly #expensive: Array<{ readonly field: string; readonly cost: number }> = []

  add(field: string, cost: number): void {
    this.#total += cost
    if (cost >= schemaLimit / 100) this.#expensive.push({ field, cost })
  }

  errors(path: string): FieldError[] {
    if (this.#total <= schemaLimit) return []
    const detail = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
    const mostExpensive = this.#expensive.toSorted((left, right) => right.cost - left.cost).slice(0, 4)
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
    return [
      ...mostExpensive.map(({ field }) => forbidden(field, detail)),
      forbidden(path, costMessage(what, this.#total, schemaLimit)),
    ]
  }
}
