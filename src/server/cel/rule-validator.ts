/**
 * Runs the rules of a schema against an object, from the root down, within the budget that the real server gives: so much
 * for one rule, so much for all of an object. Made by crds/strategy.ts for each version whose schema has rules.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { goJson } from '../../util/go-json.ts'
import { getOwn, isPlainObject } from '../../util/json.ts'
import { findField } from '../crds/field-paths.ts'
import { type FieldError, formatFieldError, formatValue } from '../field-errors.ts'
import { Correlation } from '../schema/correlate.ts'
import type { JsonSchema, SchemaNode, ValidationRule } from '../schema/structural.ts'
import { CelFailure, CostExceeded, Meter, WorkBudget } from './failures.ts'
import type { Program } from './plan.ts'
import { noRatchet, Ratchet } from './ratchet.ts'
import { type CompiledRule, compileRules } from './rules.ts'
import { withMeta } from './schema-types.ts'
import { toCelValue } from './schema-values.ts'
import { type CelValue, Optional } from './values.ts'

/** For one rule, and for all rules of an object. */
const perRuleLimit = 1_000_000
const perObjectLimit = 10_000_000
const maxMessageBytes = 5 * 1024

const outOfBudget = 'running out of cost budget, no further validation rules will be run'

interface RuleOptions {
  /** On an update: the object as it was. */
  readonly old?: JsonObject
  /** What fails as it did before is not refused but told. */
  readonly warnings?: string[]
}

interface RuleValidator {
  validate(object: JsonObject, options?: RuleOptions): FieldError[]
  /** Of a schema: as if it had not changed, and, where nothing is wrong with that, as if it had come anew. */
  validateDefault(value: Json, path: string): FieldError[]
}

/** `isRoot` is false for what is no resource: defaults are judged by the schema in which they stand. */
export function createRuleValidator(schema: SchemaNode, isRoot = true): RuleValidator {
  const root = new NodeRules(schema, isRoot)
  const run = (value: Json, place: Omit<Place, 'walk'>, warnings?: string[]): FieldError[] => {
    const walk = new Walk(perObjectLimit, warnings)
    try {
      root.validate(value, { ...place, walk })
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error
    }
    return walk.errors
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

/** Nothing more is evaluated for this object. */
class BudgetSpent extends Error {}

/** What one validation has come to so far. */
class Walk {
  readonly errors: FieldError[] = []
  readonly warnings: string[] | undefined
  readonly work = new WorkBudget()
  remaining: number

  constructor(budget: number, warnings: string[] | undefined) {
    this.remaining = budget
    this.warnings = warnings
  }

  /** The last error there will be. */
  stop(error: FieldError): never {
    this.errors.push(error)
    throw new BudgetSpent()
  }
}

/** What a rule is about, or why it could not be read. */
type RuleValue = CelValue | CelFailure

interface Place {
  readonly path: string
  readonly old: Json | undefined
  readonly ratchet: Ratchet
  readonly walk: Walk
}

/** The rules of a node, and the nodes below that have some. */
class NodeRules {
  readonly #rules: readonly CompiledRule[]
  /** What values are seen as. */
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

  /** Null is nobody's business but that of what is around. */
  validate(value: Json | undefined, place: Place): void {
    if (value === null || value === undefined) return
    if (this.#rules.length > 0) this.#run(value, place)
    if (Array.isArray(value)) this.#validateItems(value, place)
    else if (isPlainObject(value)) this.#validateFields(value, place)
  }

  #validateItems(list: readonly Json[], { path, old, ratchet, walk }: Place): void {
    if (!this.#items) return
    const olds =
      this.#listMapKeys && Array.isArray(old) ? new Map(old.map((item) => [this.#keyOf(item), item])) : undefined
    for (const [index, item] of list.entries()) {
      const place = { path: `${path}[${index}]`, old: olds?.get(this.#keyOf(item)), ratchet: ratchet.item(index), walk }
      this.#items.validate(item, place)
    }
  }

  #keyOf(item: Json): string {
    return goJson(isPlainObject(item) ? this.#listMapKeys!.map((key) => getOwn(item, key) ?? null) : item)
  }

  #validateFields(object: JsonObject, { path, old, ratchet, walk }: Place): void {
    for (const key of Object.keys(object)) {
      const rules = this.#additional ?? this.#properties.get(key)
      if (!rules) continue
      const child = this.#additional ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
      const oldValue = isPlainObject(old) ? getOwn(old, key) : undefined
      rules.validate(object[key], { path: child, old: oldValue, ratchet: ratchet.field(key), walk })
    }
  }

  #run(value: Json, place: Place): void {
    const { walk, old } = place
    if (walk.remaining <= 0) walk.stop(this.#invalid(place, `validation failed due to ${outOfBudget}`))
    const hasOld = old !== undefined && old !== null
    for (const compiled of this.#rules) {
      const { rule, program, problem, usesOldSelf } = compiled
      if (problem !== undefined) walk.errors.push(this.#invalid(place, `rule compile error: ${problem}`))
      if (!program || (usesOldSelf && !hasOld && !rule.optionalOldSelf)) continue
      const values = (): RuleValue[] => this.#valuesFor(value, hasOld ? old : undefined, compiled)
      if (this.#holds(program, values, place, rule)) continue
      const error = this.#failed(value, place, { compiled, values })
      if (!usesOldSelf && place.ratchet.isUnchanged()) walk.warnings?.push(formatFieldError(error))
      else walk.errors.push(error)
    }
  }

  #valuesFor(value: Json, old: Json | undefined, { usesOldSelf, rule }: CompiledRule): RuleValue[] {
    const self = this.#read(value)
    if (!usesOldSelf) return [self]
    if (old === undefined) return [self, Optional.none]
    const oldSelf = this.#read(old)
    return [self, rule.optionalOldSelf && !(oldSelf instanceof CelFailure) ? new Optional(oldSelf) : oldSelf]
  }

  /** Texts that fit their format may still mean nothing to rules: `2024-01-01T00:00:00z`. */
  #read(value: Json): RuleValue {
    try {
      return toCelValue(value, this.#schema)
    } catch (error) {
      if (error instanceof CelFailure) return error
      throw error
    }
  }

  /** Also true where it could not be evaluated: then the error is said already. */
  #holds(program: Program, values: () => RuleValue[], place: Place, rule: ValidationRule): boolean {
    const { walk } = place
    const { value, failure, cost } = evaluate(program, values, walk.work)
    if (cost > walk.remaining) walk.stop(this.#invalid(place, `validation failed due to ${outOfBudget}`))
    walk.remaining -= cost
    if (failure === undefined) return value === true
    const shown = nameOf(rule)
    if (failure.isCost) {
      const words = 'no further validation rules will be run due to call cost exceeds limit for rule'
      walk.stop(this.#invalid(place, `'${failure.message}': ${words}: ${shown}`))
    }
    const overload = 'call arguments did not match a supported operator, function or macro signature for rule'
    const isOverload = failure.message.startsWith('no such overload')
    const detail = isOverload
      ? `'${failure.message}': ${overload}: ${shown}`
      : `${failure.message} evaluating rule: ${shown}`
    walk.errors.push(this.#invalid(place, detail))
    return true
  }

  #failed(
    value: Json,
    place: Place,
    { compiled, values }: { readonly compiled: CompiledRule; readonly values: () => RuleValue[] },
  ): FieldError {
    const { rule, message } = compiled
    const field = this.#fieldOf(place, rule)
    const own = message && this.#messageOf(message, values, { ...place, path: field }, rule)
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

  #fieldOf({ path }: Place, { fieldPath = '' }: ValidationRule): string {
    const found = fieldPath === '' ? undefined : findField(fieldPath, this.#schema)
    if (!found || 'problem' in found) return path === '' ? '<nil>' : path
    const tail = found.path
    return path === '' ? tail : `${path}${tail.startsWith('[') ? '' : '.'}${tail}`
  }

  /** Undefined where it has none that can be shown: then the rule's own is. */
  #messageOf(message: Program, values: () => RuleValue[], place: Place, rule: ValidationRule): string | undefined {
    const { walk, path } = place
    const stop = (detail: string): never =>
      walk.stop({
        type: 'FieldValueInvalid',
        field: path,
        body: `Invalid value: ${formatValue(this.#type)}: ${detail}`,
      })
    const { value, failure, cost } = evaluate(message, values, walk.work)
    if (cost > walk.remaining) stop(`messageExpression evaluation failed due to ${outOfBudget}`)
    walk.remaining -= cost
    if (failure?.isCost) {
      const words = 'no further validation rules will be run due to call cost exceeds limit for messageExpression'
      stop(`${words}: ${formatValue(rule.messageExpression)}`)
    }
    if (failure || typeof value !== 'string') return undefined
    const text = value.trim()
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > maxMessageBytes ? undefined : text
  }

  #invalid({ path }: Place, detail: string): FieldError {
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
