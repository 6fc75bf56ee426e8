/**
 * Runs the rules of a schema against an object, from the root down, with the real server's cost limits per rule and per object.
 * Created by crds/strategy.ts for each version whose schema has rules.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { goJson } from '../../util/json/go-json.ts'
import { getOwn, isPlainObject } from '../../util/json/json.ts'
import { findField } from '../crds/field-paths.ts'
import { type FieldError, formatFieldError, formatValue } from '../field-errors.ts'
import { Correlation } from '../schema/correlate.ts'
import type { JsonSchema, SchemaNode, ValidationRule } from '../schema/structural.ts'
import { CelFailure, CostExceeded, Meter, WorkBudget } from './failures.ts'
import type { Program } from './plan.ts'
import { noRatchet, Ratchet } from './ratchet.ts'
import { type CompiledValidationRule, compileRules } from './rules.ts'
import { withMeta } from './schema-types.ts'
import { toCelValue } from './schema-values.ts'
import { type CelValue, Optional } from './values.ts'

/** Cost limits: for one rule, and for all rules of an object. */
const perRuleLimit = 1_000_000
const perObjectLimit = 10_000_000
const maxMessageBytes = 5 * 1024

const outOfBudget = 'running out of cost budget, no further validation rules will be run'

interface RuleOptions {
  /** The old object of an update. */
  readonly old?: JsonObject
  /** Receives failures of rules on unchanged values, which are not errors. */
  readonly warnings?: string[]
}

interface RuleValidator {
  validate(object: JsonObject, options?: RuleOptions): FieldError[]
  /** Validates a default of the schema: as an unchanged value, and if that succeeds, as a new value. */
  validateDefault(value: Json, path: string): FieldError[]
}

/** `isRoot` is false for values that are not whole resources, such as defaults. */
export function createRuleValidator(schema: SchemaNode, isRoot = true): RuleValidator {
  const root = new NodeRules(schema, isRoot)
  const run = (value: Json, context: Omit<RuleContext, 'state'>, warnings?: string[]): FieldError[] => {
    const state = new ValidationState(perObjectLimit, warnings)
    try {
      root.validate(value, { ...context, state })
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error
    }
    return state.errors
  }
  return {
    validate(object, { old, warnings } = {}) {
      const ratchet = old ? new Ratchet(new Correlation(schema, object, old), undefined) : noRatchet
      return run(object, { path: '', old, ratchet }, warnings)
    },
    validateDefault(value, path) {
      const errors = run(value, { path, old: value, ratchet: noRatchet })
      return errors.length > 0 ? errors : run(value, { path, old: undefined, ratchet: noRatchet })
    },
  }
}

/** Stops the evaluation of all rules for this object. */
class BudgetSpent extends Error {}

/** State of one validation: errors, warnings and the remaining budget. */
class ValidationState {
  readonly errors: FieldError[] = []
  readonly warnings: string[] | undefined
  readonly work = new WorkBudget()
  remaining: number

  constructor(budget: number, warnings: string[] | undefined) {
    this.remaining = budget
    this.warnings = warnings
  }

  /** Adds a final error and stops the validation. */
  stop(error: FieldError): never {
    this.errors.push(error)
    throw new BudgetSpent()
  }
}

/** The value of a rule's variable, or the failure of its conversion. */
type RuleValue = CelValue | CelFailure

interface RuleContext {
  readonly path: string
  readonly old: Json | undefined
  readonly ratchet: Ratchet
  readonly state: ValidationState
}

/** The rules of a schema node, and its descendants that have rules. */
class NodeRules {
  readonly #rules: readonly CompiledValidationRule[]
  /** Determines how JSON values are converted to CEL values. */
  readonly #schema: JsonSchema
  readonly #type: string
  readonly #listMapKeys: readonly string[] | undefined
  readonly #properties: ReadonlyMap<string, NodeRules>
  readonly #additional: NodeRules | undefined
  readonly #items: NodeRules | undefined

  constructor({ source, properties, additional, items, listType, listMapKeys }: SchemaNode, isRoot: boolean) {
    const hasOwn = (source['x-kubernetes-validations'] ?? []).length > 0
    this.#rules = hasOwn ? (compileRules(source, isRoot)?.rules ?? []) : []
    this.#schema = isRoot ? withMeta(source) : source
    this.#type = source.type ?? ''
    this.#listMapKeys = listType === 'map' ? listMapKeys : undefined
    this.#properties = new Map(
      [...properties].flatMap(([name, node]) => (node.needs.rules ? [[name, new NodeRules(node, node.embedded)]] : [])),
    )
    this.#additional = additional?.node?.needs.rules
      ? new NodeRules(additional.node, additional.node.embedded)
      : undefined
    this.#items = items?.needs.rules ? new NodeRules(items, items.embedded) : undefined
  }

  /** null is skipped here; the parent's `nullable` check covers it. */
  validate(value: Json | undefined, context: RuleContext): void {
    if (value === null || value === undefined) return
    if (this.#rules.length > 0) this.#run(value, context)
    if (Array.isArray(value)) this.#validateItems(value, context)
    else if (isPlainObject(value)) this.#validateFields(value, context)
  }

  #validateItems(list: readonly Json[], { path, old, ratchet, state }: RuleContext): void {
    if (!this.#items) return
    const olds =
      this.#listMapKeys && Array.isArray(old) ? new Map(old.map((item) => [this.#keyOf(item), item])) : undefined
    for (const [index, item] of list.entries()) {
      const context = {
        path: `${path}[${index}]`,
        old: olds?.get(this.#keyOf(item)),
        ratchet: ratchet.item(index),
        state,
      }
      this.#items.validate(item, context)
    }
  }

  #keyOf(item: Json): string {
    return goJson(isPlainObject(item) ? this.#listMapKeys!.map((key) => getOwn(item, key) ?? null) : item)
  }

  #validateFields(object: JsonObject, { path, old, ratchet, state }: RuleContext): void {
    for (const key of Object.keys(object)) {
      const rules = this.#additional ?? this.#properties.get(key)
      if (!rules) continue
      const child = this.#additional ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
      const oldValue = isPlainObject(old) ? getOwn(old, key) : undefined
      rules.validate(object[key], { path: child, old: oldValue, ratchet: ratchet.field(key), state })
    }
  }

  #run(value: Json, context: RuleContext): void {
    const { state, old } = context
    if (state.remaining <= 0) state.stop(this.#invalid(context, `validation failed due to ${outOfBudget}`))
    const hasOld = old !== undefined && old !== null
    for (const compiled of this.#rules) {
      const { rule, program, problem, usesOldSelf } = compiled
      if (problem !== undefined) state.errors.push(this.#invalid(context, `rule compile error: ${problem}`))
      if (!program || (usesOldSelf && !hasOld && !rule.optionalOldSelf)) continue
      const values = (): RuleValue[] => this.#valuesFor(value, hasOld ? old : undefined, compiled)
      if (this.#holds(program, values, context, rule)) continue
      const error = this.#failed(value, context, { compiled, values })
      if (!usesOldSelf && context.ratchet.isUnchanged()) state.warnings?.push(formatFieldError(error))
      else state.errors.push(error)
    }
  }

  #valuesFor(value: Json, old: Json | undefined, { usesOldSelf, rule }: CompiledValidationRule): RuleValue[] {
    const self = this.#read(value)
    if (!usesOldSelf) return [self]
    if (old === undefined) return [self, Optional.none]
    const oldSelf = this.#read(old)
    return [self, rule.optionalOldSelf && !(oldSelf instanceof CelFailure) ? new Optional(oldSelf) : oldSelf]
  }

  /** A string that matches its format may still fail to convert, such as `2024-01-01T00:00:00z`. */
  #read(value: Json): RuleValue {
    try {
      return toCelValue(value, this.#schema)
    } catch (error) {
      if (error instanceof CelFailure) return error
      throw error
    }
  }

  /** True if the rule passes, and also if its evaluation fails: that error has already been added. */
  #holds(program: Program, values: () => RuleValue[], context: RuleContext, rule: ValidationRule): boolean {
    const { state } = context
    const { value, failure, cost } = evaluate(program, values, state.work)
    if (cost > state.remaining) state.stop(this.#invalid(context, `validation failed due to ${outOfBudget}`))
    state.remaining -= cost
    if (failure === undefined) return value === true
    const shown = nameOf(rule)
    if (failure.isCost) {
      const words = 'no further validation rules will be run due to call cost exceeds limit for rule'
      state.stop(this.#invalid(context, `'${failure.message}': ${words}: ${shown}`))
    }
    const overload = 'call arguments did not match a supported operator, function or macro signature for rule'
    const isOverload = failure.message.startsWith('no such overload')
    const detail = isOverload
      ? `'${failure.message}': ${overload}: ${shown}`
      : `${failure.message} evaluating rule: ${shown}`
    state.errors.push(this.#invalid(context, detail))
    return true
  }

  #failed(
    value: Json,
    context: RuleContext,
    { compiled, values }: { readonly compiled: CompiledValidationRule; readonly values: () => RuleValue[] },
  ): FieldError {
    const { rule, message } = compiled
    const field = this.#fieldOf(context, rule)
    const own = message && this.#messageOf(message, values, { ...context, path: field }, rule)
    const detail = own ?? (rule.message ? rule.message.trim() : `failed rule: ${nameOf(rule)}`)
    const isContainer = this.#type === 'object' || this.#type === 'array'
    const shown = isContainer ? '' : `: ${formatValue(value)}`
    switch (rule.reason) {
      case 'FieldValueForbidden':
        return { type: 'FieldValueForbidden', field, body: `Forbidden: ${detail}` }
      case 'FieldValueRequired':
        return { type: 'FieldValueRequired', field, body: `Required value: ${detail}` }
      case 'FieldValueDuplicate':
        return { type: 'FieldValueDuplicate', field, body: `Duplicate value${shown}` }
      default:
        return { type: 'FieldValueInvalid', field, body: `Invalid value${shown}: ${detail}` }
    }
  }

  #fieldOf({ path }: RuleContext, { fieldPath = '' }: ValidationRule): string {
    const found = fieldPath === '' ? undefined : findField(fieldPath, this.#schema)
    if (!found || 'problem' in found) return path === '' ? '<nil>' : path
    const tail = found.path
    return path === '' ? tail : `${path}${tail.startsWith('[') ? '' : '.'}${tail}`
  }

  /** Undefined if the messageExpression gives no usable message; the rule's `message` is shown instead. */
  #messageOf(
    message: Program,
    values: () => RuleValue[],
    context: RuleContext,
    rule: ValidationRule,
  ): string | undefined {
    const { state, path } = context
    const stop = (detail: string): never =>
      state.stop({
        type: 'FieldValueInvalid',
        field: path,
        body: `Invalid value: ${formatValue(this.#type)}: ${detail}`,
      })
    const { value, failure, cost } = evaluate(message, values, state.work)
    if (cost > state.remaining) stop(`messageExpression evaluation failed due to ${outOfBudget}`)
    state.remaining -= cost
    if (failure?.isCost) {
      const words = 'no further validation rules will be run due to call cost exceeds limit for messageExpression'
      stop(`${words}: ${formatValue(rule.messageExpression)}`)
    }
    if (failure || typeof value !== 'string') return undefined
    const text = value.trim()
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > maxMessageBytes ? undefined : text
  }

  #invalid({ path }: RuleContext, detail: string): FieldError {
    const field = path === '' ? '<nil>' : path
    return { type: 'FieldValueInvalid', field, body: `Invalid value: ${formatValue(this.#type)}: ${detail}` }
  }
}

const nameOf = ({ rule, message }: ValidationRule): string => (message ? message.trim() : rule.trim())

interface Evaluation {
  readonly value?: CelValue
  readonly failure?: { readonly message: string; readonly isCost: boolean }
  readonly cost: number
}

function evaluate(program: Program, values: () => RuleValue[], work: WorkBudget): Evaluation {
  const meter = new Meter(perRuleLimit, work)
  try {
    return { value: program.evaluate(values(), meter), cost: meter.cost }
  } catch (error) {
    if (error instanceof CelFailure) return { failure: { message: error.message, isCost: false }, cost: meter.cost }
    if (error instanceof CostExceeded) return { failure: { message: error.message, isCost: true }, cost: meter.cost }
    throw error
  }
}
