/**
 * Whether the rules in a schema can be evaluated, and at what cost: they are compiled and estimated as the real server does
 * it when a CRD is written. Called by validate-schema.ts for schemas that are right otherwise.
 */
import { isPlainObject } from '../../util/json.ts'
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
  /** Where something is wrong with a schema, its rules are not looked at. */
  readonly schemaErrors: readonly FieldError[]
  /** What is served already is not refused for its cost. */
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

interface Node {
  readonly schema: JsonSchema
  readonly path: string
  readonly isRoot: boolean
  /** How often it can be in an object; undefined where no limit is set. */
  readonly cardinality: number | undefined
  /** The path of the list whose items have no old value to be compared with. */
  readonly uncorrelatable: string | undefined
}

/** What is below comes first. */
function checkNode(node: Node, options: RuleCheckOptions, total: TotalCost): FieldError[] {
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

function cardinalityBelow({ schema, cardinality }: Node): number | undefined {
  const { type, maxItems, maxProperties, additionalProperties } = schema
  const isMap = type === 'object' && additionalProperties !== undefined
  if (cardinality === undefined || (type !== 'array' && !isMap)) return cardinality
  const limit = type === 'array' ? maxItems : maxProperties
  return limit === undefined ? undefined : cardinality * Math.max(limit, 0)
}

function checkOwn(node: Node, options: RuleCheckOptions, total: TotalCost): FieldError[] {
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

type CompiledRule = NonNullable<ReturnType<ReturnType<typeof celEngine>['compileRules']>>['rules'][number]

interface RulePlace {
  readonly node: Node
  readonly field: string
  readonly cost: number
}

function checkRule(
  compiled: CompiledRule,
  place: RulePlace,
  options: RuleCheckOptions,
  total: TotalCost,
): FieldError[] {
  const { rule, problem, messageProblem, messageCost, message, usesOldSelf } = compiled
  const { node, field, cost } = place
  const errors: FieldError[] = []
  const check = (name: string, what: string, spent: number): void => {
    total.add(`${field}.${name}`, spent)
    if (spent > ruleLimit && !options.isUnchanged)
      errors.push(forbidden(`${field}.${name}`, tooDear(what, spent, ruleLimit)))
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

function tooDear(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`
  return `${what} exceeds budget by factor of ${shown} ${advice}`
}

/** Of all rules of a schema, with those that make up most of it. */
class TotalCost {
  #total = 0
  readonly #dear: Array<{ readonly field: string; readonly cost: number }> = []

  add(field: string, cost: number): void {
    this.#total += cost
    if (cost >= schemaLimit / 100) this.#dear.push({ field, cost })
  }

  errors(path: string): FieldError[] {
    if (this.#total <= schemaLimit) return []
    const detail = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
    const dearest = this.#dear.toSorted((left, right) => right.cost - left.cost).slice(0, 4)
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
    return [
      ...dearest.map(({ field }) => forbidden(field, detail)),
      forbidden(path, tooDear(what, this.#total, schemaLimit)),
    ]
  }
}
