/**
 * Compiles a checked expression to a function of its variables that counts its cost. The costs are cel-go's, which counts them
 * per step of its own plans; unusual steps here exist to produce the same costs.
 */
import type { CallExpr, Expr, Fold, Ident, ListLiteral, MapLiteral, Select } from './ast.ts'
import { callStep, charged } from './calls.ts'
import { listBase, mapBase } from './costs.ts'
import { type CelFailure, fail, Meter, noSuchOverload } from './failures.ts'
import type { Overload } from './functions.ts'
import { foldStep, planLogic, planNotStrictlyFalse } from './logic.ts'
import { type EvaluationStep, type Qualifier, readSlot, resolve } from './paths.ts'
import { ArrayList, CelList, type CelValue, HashMap, Optional, TypeValue, Uint } from './values.ts'

export interface CelPlanOptions {
  readonly functions: ReadonlyMap<string, readonly Overload[]>
  /** In the order of the values passed to `evaluate`. */
  readonly variables: readonly string[]
}

export interface Program {
  /** Throws a CelFailure for errors and CostExceeded at the cost limit. */
  /** A value that cannot be converted is passed as its failure, which is thrown only if the expression uses it. */
  evaluate(values: ReadonlyArray<CelValue | CelFailure>, meter: Meter): CelValue
}

export function plan(expr: Expr, options: CelPlanOptions): Program {
  const step = new Planner(options).plan(expr)
  return { evaluate: (values, meter) => step({ slots: [...values], meter }) }
}

/** A path from a variable or value, such as `self.spec.list[0]`. It is resolved as a whole and has a single cost. */
interface Path {
  /** Evaluates the start of the path, without the cost of the path. */
  readonly root: EvaluationStep
  readonly qualifiers: readonly Qualifier[]
  /** True for `(a ? b : c).d`, which costs as much as the chosen branch. */
  readonly isConditional?: boolean
}

class Planner {
  readonly #functions: CelPlanOptions['functions']
  readonly #scope: Array<{ readonly name: string; readonly slot: number }>
  /** Accumulators visible only to their fold: their lists are appended to instead of copied. */
  readonly #filled = new Set<string>()
  readonly #constants = new Map<EvaluationStep, CelValue>()
  #nextSlot: number

  constructor({ functions, variables }: CelPlanOptions) {
    this.#functions = functions
    this.#scope = variables.map((name, slot) => ({ name, slot }))
    this.#nextSlot = variables.length
  }

  plan(expr: Expr): EvaluationStep {
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

  #slotOf(name: string): number | undefined {
    const own = name.replace(/^\./, '')
    return this.#scope.findLast((one) => one.name === own)?.slot
  }

  /** Type names are constants and cost nothing. */
  #typeValue(expr: Ident | Select): EvaluationStep | undefined {
    if (expr.type?.kind !== 'type' || (expr.kind === 'ident' && this.#slotOf(expr.name) !== undefined)) return undefined
    return this.#constant(new TypeValue(expr.type.params[0]?.name ?? 'type'))
  }

  /** Constants, and values made of constants only, are created once here and cost nothing at evaluation. */
  #constant(value: CelValue): EvaluationStep {
    const step: EvaluationStep = () => value
    this.#constants.set(step, value)
    return step
  }

  /** `price` is the cost of resolving the path, in addition to its parts. 0 in a branch of `?:`, which charges for it itself. */
  #planPath(expr: Expr, price: 0 | 1): EvaluationStep {
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
    const slot = name === undefined ? undefined : this.#slotOf(name)
    if (slot !== undefined) return { root: (run) => readSlot(run, slot, name!), qualifiers: [] }
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

  /** The key of an index expression. A constant or computed key costs 1 more; a path has its own cost. */
  #planKey(expr: Expr): Pick<Qualifier, 'key' | 'price'> {
    const isPath = expr.kind === 'ident' || expr.kind === 'select' || (expr.kind === 'call' && isAccess(expr))
    return { key: this.plan(expr), price: isPath ? 0 : 1 }
  }

  #planCall(expr: CallExpr): EvaluationStep {
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

  #planConditional({ args }: CallExpr): EvaluationStep {
    const condition = this.plan(args[0]!)
    const [yes, no] = args.slice(1).map((branch) => this.#planBranch(branch)) as [EvaluationStep, EvaluationStep]
    return (run) => {
      const value = condition(run)
      if (typeof value !== 'boolean') return noSuchOverload()
      return value ? yes(run) : no(run)
    }
  }

  #planBranch(branch: Expr): EvaluationStep {
    const isName = branch.kind === 'ident' || branch.kind === 'select'
    if (isName && this.#typeValue(branch)) return this.plan(branch)
    return isName || (branch.kind === 'call' && isAccess(branch)) ? this.#planPath(branch, 0) : this.plan(branch)
  }

  #planOptionalOr({ name, target, args }: CallExpr): EvaluationStep {
    const [first, second] = [this.plan(target!), this.plan(args[0]!)]
    return (run) => {
      const value = first(run)
      if (!(value instanceof Optional)) return noSuchOverload()
      if (value.value === undefined) return second(run)
      return name === 'or' ? value : value.value
    }
  }

  /** `@result + [item]` in the fold that created the list. */
  #planFilling({ name, args, overloads }: CallExpr): EvaluationStep | undefined {
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

  /** `x in ['a', 'b']` is a hash lookup and costs no more than `x`. */
  #planMembership({ name, args, overloads }: CallExpr): EvaluationStep | undefined {
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

  #planFunction(expr: CallExpr): EvaluationStep {
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

  #planList({ elements, optionals }: ListLiteral): EvaluationStep {
    const steps = elements.map((element) => this.plan(element))
    const isConstant = optionals.size === 0 && steps.every((step) => this.#constants.has(step))
    const make: EvaluationStep = (run) => {
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
    // An empty list is created per evaluation, because comprehensions append to it.
    return isConstant && elements.length > 0 ? this.#constant(evaluateConstant(make)) : make
  }

  #planMap({ entries }: MapLiteral): EvaluationStep {
    const steps = entries.map(({ key, value, isOptional }) => [this.plan(key), this.plan(value), isOptional] as const)
    const isConstant = steps.every(
      ([key, value, isOptional]) => !isOptional && this.#constants.has(key) && this.#constants.has(value),
    )
    const make: EvaluationStep = (run) => {
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

  #planFold(expr: Fold): EvaluationStep {
    const range = this.plan(expr.range)
    const initial = this.plan(expr.initial)
    const depth = this.#scope.length
    const slots = this.#declare(
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
    return foldStep({ range, initial, condition, step, result, slots })
  }

  #declare(...names: string[]): number[] {
    return names.map((name) => {
      const slot = this.#nextSlot
      this.#nextSlot += 1
      this.#scope.push({ name, slot })
      return slot
    })
  }
}

const isAccess = ({ name }: CallExpr): boolean => name === '_[_]' || name === '_[?_]' || name === '_?._'

/** Conversions of constants run at compile time; if one fails, the expression does not compile. */
const foldable: ReadonlySet<string> = new Set(
  'bool bytes double duration dyn int string timestamp type uint'.split(' '),
)

function evaluateConstant(step: EvaluationStep): CelValue {
  return step({ slots: [], meter: new Meter(1_000_000) })
}

function notOptional(what: string, value: CelValue): never {
  return fail(`cannot initialize optional ${what} from non-optional value ${String(value)}`)
}
