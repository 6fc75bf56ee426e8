/**
 * Makes a checked expression ready to be evaluated: a function of its variables, with what it costs counted on the way.
 * Costs are cel-go's, which has them by the steps of its own plans; where a step looks odd here, that is why.
 */
import type { Call, Expr, Fold, Ident, List, MapLiteral, Select } from './ast.ts'
import { callStep, charged } from './calls.ts'
import { listBase, mapBase } from './costs.ts'
import { type CelFailure, fail, Meter, noSuchOverload } from './failures.ts'
import type { Overload } from './functions.ts'
import { foldStep, planLogic, planNotStrictlyFalse } from './logic.ts'
import { type Qualifier, readPlace, resolve, type Step } from './paths.ts'
import { ArrayList, CelList, type CelValue, HashMap, Optional, TypeValue, Uint } from './values.ts'

export interface PlanOptions {
  readonly functions: ReadonlyMap<string, readonly Overload[]>
  /** In the order in which their values will be given. */
  readonly variables: readonly string[]
}

export interface Program {
  /** Throws a CelFailure for errors, a CostExceeded where the meter ends it. */
  /** A value that cannot be read is its failure, which matters where the expression comes to it. */
  evaluate(values: ReadonlyArray<CelValue | CelFailure>, meter: Meter): CelValue
}

export function plan(expr: Expr, options: PlanOptions): Program {
  const step = new Planner(options).plan(expr)
  return { evaluate: (values, meter) => step({ places: [...values], meter }) }
}

/** A path from a variable or a value: `self.spec.list[0]`. It is resolved as one thing, and so it has one price. */
interface Path {
  /** Of the value it starts from, without the price of the path itself. */
  readonly root: Step
  readonly qualifiers: readonly Qualifier[]
  /** `(a ? b : c).d` costs what its branch does. */
  readonly isConditional?: boolean
}

class Planner {
  readonly #functions: PlanOptions['functions']
  readonly #scope: Array<{ readonly name: string; readonly place: number }>
  /** Accumulators that only their fold knows: lists that are filled rather than copied. */
  readonly #filled = new Set<string>()
  readonly #constants = new Map<Step, CelValue>()
  #nextPlace: number

  constructor({ functions, variables }: PlanOptions) {
    this.#functions = functions
    this.#scope = variables.map((name, place) => ({ name, place }))
    this.#nextPlace = variables.length
  }

  plan(expr: Expr): Step {
    switch (expr.kind) {
      case 'literal':
        return this.#constant(expr.value)
      case 'ident':
      case 'select':
        return this.#typeValue(expr) ?? this.#planPath(expr, 1)
      case 'call':
        return this.#planCall(expr)
      case 'list':
        return this.#planList(expr)
      case 'map':
        return this.#planMap(expr)
      case 'fold':
        return this.#planFold(expr)
      default:
        return () => fail(`unknown type: ${expr.name}`)
    }
  }

  #placeOf(name: string): number | undefined {
    const own = name.replace(/^\./, '')
    return this.#scope.findLast((one) => one.name === own)?.place
  }

  /** Names of types are constants, and free. */
  #typeValue(expr: Ident | Select): Step | undefined {
    if (expr.type?.kind !== 'type' || (expr.kind === 'ident' && this.#placeOf(expr.name) !== undefined))
      return undefined
    return this.#constant(new TypeValue(expr.type.params[0]?.name ?? 'type'))
  }

  /** Constants are free, and so is what is made of them alone: it is made here, once. */
  #constant(value: CelValue): Step {
    const step: Step = () => value
    this.#constants.set(step, value)
    return step
  }

  /** `price` is what resolving the path costs beside its parts; nothing in a branch of `?:`, which resolves it itself. */
  #planPath(expr: Expr, price: 0 | 1): Step {
    const { root, qualifiers, isConditional } = this.#pathOf(expr)
    const cost = qualifiers.at(-1)?.isTest || isConditional ? 0 : price
    return (run) => {
      try {
        const value = root(run)
        const found = qualifiers.length === 0 ? value : resolve(value, qualifiers, run)
        run.meter.spend(cost)
        return found
      } catch (error) {
        throw charged(error, run, 1 + cost)
      }
    }
  }

  #pathOf(expr: Expr): Path {
    const name = expr.kind === 'ident' ? expr.name : expr.kind === 'select' ? expr.variable : undefined
    const place = name === undefined ? undefined : this.#placeOf(name)
    if (place !== undefined) return { root: (run) => readPlace(run, place, name!), qualifiers: [] }
    if (expr.kind === 'select' && !this.#isConstant(expr)) {
      const path = this.#pathOf(expr.operand)
      const qualifier: Qualifier = { key: () => expr.field, price: 1, isOptional: false, isTest: expr.isTest }
      return { ...path, qualifiers: [...path.qualifiers, qualifier] }
    }
    if (expr.kind === 'call' && isAccess(expr)) {
      const path = this.#pathOf(expr.args[0]!)
      const isOptional = expr.name !== '_[_]'
      const qualifier: Qualifier = { ...this.#planKey(expr.args[1]!), isOptional, isTest: false }
      return { ...path, qualifiers: [...path.qualifiers, qualifier] }
    }
    if (expr.kind === 'call' && expr.name === '_?_:_')
      return { root: this.#planConditional(expr), qualifiers: [], isConditional: true }
    return { root: this.plan(expr), qualifiers: [] }
  }

  #isConstant(expr: Expr): boolean {
    return expr.kind === 'select' && expr.type?.kind === 'type' && this.#typeValue(expr) !== undefined
  }

  /** Constants and what has to be computed cost one more; a path costs itself. */
  #planKey(expr: Expr): Pick<Qualifier, 'key' | 'price'> {
    const isPath = expr.kind === 'ident' || expr.kind === 'select' || (expr.kind === 'call' && isAccess(expr))
    return { key: this.plan(expr), price: isPath ? 0 : 1 }
  }

  #planCall(expr: Call): Step {
    if (isAccess(expr)) return this.#planPath(expr, 1)
    switch (expr.name) {
      case '_&&_':
        return planLogic(
          expr.args.map((arg) => this.plan(arg)),
          false,
        )
      case '_||_':
        return planLogic(
          expr.args.map((arg) => this.plan(arg)),
          true,
        )
      case '_?_:_':
        return this.#planConditional(expr)
      case '@not_strictly_false':
        return planNotStrictlyFalse(this.plan(expr.args[0]!))
      case 'or':
      case 'orValue':
        return this.#planOptionalOr(expr)
    }
    return this.#planFilling(expr) ?? this.#planMembership(expr) ?? this.#planFunction(expr)
  }

  #planConditional({ args }: Call): Step {
    const condition = this.plan(args[0]!)
    const [yes, no] = args.slice(1).map((branch) => this.#planBranch(branch)) as [Step, Step]
    return (run) => {
      const value = condition(run)
      if (typeof value !== 'boolean') return noSuchOverload()
      return value ? yes(run) : no(run)
    }
  }

  #planBranch(branch: Expr): Step {
    const isName = branch.kind === 'ident' || branch.kind === 'select'
    if (isName && this.#typeValue(branch)) return this.plan(branch)
    return isName || (branch.kind === 'call' && isAccess(branch)) ? this.#planPath(branch, 0) : this.plan(branch)
  }

  #planOptionalOr({ name, target, args }: Call): Step {
    const [first, second] = [this.plan(target!), this.plan(args[0]!)]
    return (run) => {
      const value = first(run)
      if (!(value instanceof Optional)) return noSuchOverload()
      if (value.value === undefined) return second(run)
      return name === 'or' ? value : value.value
    }
  }

  /** `@result + [item]` in the fold that made the list. */
  #planFilling({ name, args, overloads }: Call): Step | undefined {
    const [left, right] = args
    if (name !== '_+_' || overloads?.length !== 1 || left?.kind !== 'ident' || !this.#filled.has(left.name))
      return undefined
    const [target, added] = [this.plan(left), this.plan(right!)]
    return (run) => {
      const [list, items] = [target(run), added(run)]
      if (!(list instanceof ArrayList) || !(items instanceof CelList)) return noSuchOverload()
      run.meter.spend(1)
      list.push(items.toArray())
      return list
    }
  }

  /** `x in ['a', 'b']` is looked up, and costs no more than `x`. */
  #planMembership({ name, args, overloads }: Call): Step | undefined {
    const [sought, list] = args
    if (name !== '@in' || list?.kind !== 'list' || overloads?.[0] !== 'in_list') return undefined
    const values = this.#constants.get(this.plan(list))
    if (!(values instanceof ArrayList)) return undefined
    const isSimple = (value: CelValue): boolean =>
      typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean' || value instanceof Uint
    if (!values.toArray().every(isSimple)) return undefined
    const set = new HashMap()
    for (const value of values.toArray()) set.set(value, true)
    const step = this.plan(sought!)
    return (run) => set.find(step(run)) !== undefined
  }

  #planFunction(expr: Call): Step {
    const { name } = expr
    const isMember = expr.target !== undefined
    const operands = expr.target ? [expr.target, ...expr.args] : expr.args
    const steps = operands.map((operand) => this.plan(operand))
    const all = (this.#functions.get(name) ?? []).filter((one) => one.isMember === isMember)
    const own = all.filter(({ id }) => expr.overloads?.includes(id))
    const candidates = own.length === 1 ? own : all
    const overload = own.length === 1 ? own[0]!.id : ''
    const step = callStep({ name, overload, candidates, steps })
    const [argument] = steps
    if (steps.length !== 1 || !foldable.has(name) || !this.#constants.has(argument!)) return step
    return this.#constant(evaluateConstant(step))
  }

  #planList({ elements, optionals }: List): Step {
    const steps = elements.map((element) => this.plan(element))
    const isConstant = optionals.size === 0 && steps.every((step) => this.#constants.has(step))
    const make: Step = (run) => {
      const items: CelValue[] = []
      for (const [index, step] of steps.entries()) {
        const item = step(run)
        if (!optionals.has(index)) items.push(item)
        else if (!(item instanceof Optional)) notOptional('list element', item)
        else if (item.value !== undefined) items.push(item.value)
      }
      run.meter.spend(isConstant ? 0 : listBase)
      return new ArrayList(items)
    }
    // Comprehensions fill an empty one, which therefore has to be made anew.
    return isConstant && elements.length > 0 ? this.#constant(evaluateConstant(make)) : make
  }

  #planMap({ entries }: MapLiteral): Step {
    const steps = entries.map(({ key, value, isOptional }) => [this.plan(key), this.plan(value), isOptional] as const)
    const isConstant = steps.every(
      ([key, value, isOptional]) => !isOptional && this.#constants.has(key) && this.#constants.has(value),
    )
    const make: Step = (run) => {
      const map = new HashMap()
      for (const [keyStep, valueStep, isOptional] of steps) {
        const [key, value] = [keyStep(run), valueStep(run)]
        if (!isOptional) map.set(key, value)
        else if (!(value instanceof Optional)) notOptional(`entry '${String(key)}'`, value)
        else if (value.value === undefined) map.delete(key)
        else map.set(key, value.value)
      }
      run.meter.spend(isConstant ? 0 : mapBase)
      return map
    }
    return isConstant && entries.length > 0 ? this.#constant(evaluateConstant(make)) : make
  }

  #planFold(expr: Fold): Step {
    const range = this.plan(expr.range)
    const initial = this.plan(expr.initial)
    const depth = this.#scope.length
    const places = this.#declare(
      expr.accumulator,
      expr.variable,
      ...(expr.variable2 === undefined ? [] : [expr.variable2]),
    )
    const wasFilled = this.#filled.has(expr.accumulator)
    if (expr.initial.kind === 'list' && expr.initial.elements.length === 0) this.#filled.add(expr.accumulator)
    else this.#filled.delete(expr.accumulator)
    const [condition, step] = [this.plan(expr.condition), this.plan(expr.step)]
    this.#scope.length = depth + 1
    const result = this.plan(expr.result)
    this.#scope.length = depth
    if (wasFilled) this.#filled.add(expr.accumulator)
    else this.#filled.delete(expr.accumulator)
    return foldStep({ range, initial, condition, step, result, places })
  }

  #declare(...names: string[]): number[] {
    return names.map((name) => {
      const place = this.#nextPlace
      this.#nextPlace += 1
      this.#scope.push({ name, place })
      return place
    })
  }
}

const isAccess = ({ name }: Call): boolean => name === '_[_]' || name === '_[?_]' || name === '_?._'

/** Conversions of constants are made before anything is evaluated; one that fails is no program. */
const foldable: ReadonlySet<string> = new Set(
  'bool bytes double duration dyn int string timestamp type uint'.split(' '),
)

function evaluateConstant(step: Step): CelValue {
  return step({ places: [], meter: new Meter(1_000_000) })
}

function notOptional(what: string, value: CelValue): never {
  return fail(`cannot initialize optional ${what} from non-optional value ${String(value)}`)
}
