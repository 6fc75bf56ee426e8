/**
 * The type checker: determines the type of every node and the overloads of every call, or reports errors like cel-go's checker.
 * It knows variables, type names and functions from an `Environment`.
 */
import { assign, mostGeneral, substitute, TypeBindings } from './assign.ts'
import {
  type CallExpr,
  type Expr,
  type Fold,
  type ListLiteral,
  type MapLiteral,
  qualifiedName,
  type Select,
} from './ast.ts'
import type { Overload } from './functions.ts'
import type { Issues } from './source.ts'
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  dynType,
  errorType,
  formatArguments,
  formatType,
  intType,
  isDyn,
  isDynOrError,
  isSameType,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  param,
  stringType,
  uintType,
  unwrapOptional,
} from './types.ts'
import { type CelValue, Uint } from './values.ts'

export interface Environment {
  readonly variables: ReadonlyMap<string, CelType>
  /** Names whose values are types: `int`, `string`, `type`… */
  readonly types: ReadonlyMap<string, CelType>
  readonly functions: ReadonlyMap<string, readonly Overload[]>
}

/** Sets `type` and `overloads` of all nodes and adds errors to `issues`. */
export function check(expr: Expr, environment: Environment, issues: Issues): void {
  const checker = new Checker(environment, issues)
  checker.visit(expr)
  checker.resolveTypes()
}

function typeOfLiteral(value: CelValue): CelType {
  if (typeof value === 'boolean') return boolType
  if (typeof value === 'bigint') return intType
  if (typeof value === 'number') return doubleType
  if (typeof value === 'string') return stringType
  if (value instanceof Uint) return uintType
  return value === null ? nullType : bytesType
}

class Checker {
  readonly #environment: Environment
  readonly #issues: Issues
  readonly #visited: Expr[] = []
  /** Variables of enclosing folds, the innermost last. */
  readonly #scopes: Array<ReadonlyMap<string, CelType>> = []
  readonly #bindings = new TypeBindings()
  #freeCount = 0

  constructor(environment: Environment, issues: Issues) {
    this.#environment = environment
    this.#issues = issues
  }

  /** Replaces type parameters by their inferred types; unbound parameters become `dyn`. */
  resolveTypes(): void {
    for (const expr of this.#visited) expr.type = substitute(this.#bindings, expr.type!, 'dyn')
  }

  visit(expr: Expr): CelType {
    this.#visited.push(expr)
    expr.type = this.#typeOf(expr)
    return expr.type
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case 'literal':
        return typeOfLiteral(expr.value)
      case 'ident':
        return this.#variable(expr.name) ?? this.#undeclared(expr.at, expr.name)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'fold':
        return this.#fold(expr)
      default:
        return this.#message(expr.at, expr.name, expr.values)
    }
  }

  #variable(written: string): CelType | undefined {
    const name = written.replace(/^\./, '')
    if (name === written) {
      for (const scope of [...this.#scopes].reverse()) if (scope.has(name)) return scope.get(name)
    }
    return this.#environment.variables.get(name) ?? this.#environment.types.get(name)
  }

  #undeclared(at: number, name: string): CelType {
    this.#issues.report(at, `undeclared reference to '${name}' (in container '')`)
    return errorType
  }

  #mismatch(at: number, expected: CelType, found: CelType): void {
    this.#issues.report(at, `expected type '${formatType(expected)}' but found '${formatType(found)}'`)
  }

  #isAssignable(to: CelType, from: CelType): boolean {
    return assign(this.#bindings, [to], [from])
  }

  #free(): CelType {
    return param(`_var${this.#freeCount++}`)
  }

  #select(expr: Select): CelType {
    const name = qualifiedName(expr)
    const variable = name === undefined ? undefined : this.#environment.variables.get(name)
    if (variable) {
      expr.variable = name!
      return variable
    }
    const known = name === undefined ? undefined : this.#environment.types.get(name)
    if (known) return known
    const type = this.#field(expr.at, this.visit(expr.operand), expr.field, false)
    return expr.isTest ? boolType : type
  }

  #field(at: number, operand: CelType, field: string, isOptional: boolean): CelType {
    const target = unwrapOptional(substitute(this.#bindings, operand))
    const type = this.#fieldOf(at, target.type, field)
    return isOptional || target.isOptional ? optionalOf(type) : type
  }

  #fieldOf(at: number, target: CelType, field: string): CelType {
    if (target.kind === 'map') return target.params[1]!
    if (target.kind === 'struct') {
      const type = target.fields?.get(field)
      if (!type) this.#issues.report(at, `undefined field '${field}'`)
      return type ?? errorType
    }
    if (target.kind === 'param') this.#isAssignable(dynType, target)
    else if (!isDynOrError(target)) {
      this.#issues.report(at, `type '${formatType(target)}' does not support field selection`)
    }
    return dynType
  }

  #call(expr: CallExpr): CelType {
    if (expr.name === '_?._') {
      const [operand, field] = expr.args
      const name = (field as { readonly value: string }).value
      expr.overloads = ['select_optional_field']
      field!.type = stringType
      return this.#field(expr.at, this.visit(operand!), name, true)
    }
    for (const arg of expr.args) this.visit(arg)
    const { functions } = this.#environment
    if (expr.target) {
      const prefix = qualifiedName(expr.target)
      if (prefix !== undefined && functions.has(`${prefix}.${expr.name}`)) {
        expr.name = `${prefix}.${expr.name}`
        expr.target = undefined
      } else this.visit(expr.target)
    }
    expr.name = expr.name.replace(/^\./, '')
    const overloads = functions.get(expr.name)
    return overloads ? this.#resolve(expr, overloads) : this.#undeclared(expr.at, expr.name)
  }

  #resolve(expr: CallExpr, overloads: readonly Overload[]): CelType {
    if (expr.name === '_&&_' || expr.name === '_||_') return this.#resolveLogical(expr, overloads[0]!.id)
    const operands = expr.target ? [expr.target, ...expr.args] : expr.args
    const types = operands.map(({ type }) => type!)
    const found: string[] = []
    let result: CelType | undefined
    for (const overload of overloads) {
      if (overload.isMember !== (expr.target !== undefined)) continue
      const { params, result: own } = this.#instantiate(overload)
      if (!assign(this.#bindings, types, params)) continue
      found.push(overload.id)
      const type = substitute(this.#bindings, own)
      if (result === undefined) result = type
      else if (!isDyn(result) && !isSameType(type, result)) result = dynType
    }
    expr.overloads = found
    if (result) return result
    const signature = formatArguments(
      types.map((type) => substitute(this.#bindings, type, 'dyn')),
      expr.target !== undefined,
    )
    this.#issues.report(expr.at, `found no matching overload for '${expr.name}' applied to '${signature}'`)
    return errorType
  }

  #resolveLogical(expr: CallExpr, id: string): CelType {
    expr.overloads = [id]
    const wrong = expr.args.filter(({ type }) => !this.#isAssignable(type!, boolType))
    for (const { at, type } of wrong) this.#mismatch(at, boolType, type!)
    return wrong.length === 0 ? boolType : errorType
  }

  /** The overload with fresh type parameters for this call. */
  #instantiate({ params, result }: Overload): Pick<Overload, 'params' | 'result'> {
    const own = new TypeBindings()
    let isGeneric = false
    const collect = (type: CelType): void => {
      if (type.kind === 'param') {
        isGeneric = true
        if (own.get(type.name) === undefined) own.set(type.name, this.#free())
      }
      for (const one of type.params) collect(one)
    }
    for (const type of [...params, result]) collect(type)
    if (!isGeneric) return { params, result }
    return { params: params.map((type) => substitute(own, type)), result: substitute(own, result) }
  }

  #list({ elements, optionals }: ListLiteral): CelType {
    let joined: CelType | undefined
    for (const [index, element] of elements.entries()) {
      joined = this.#join(joined, this.#entryType(element, optionals.has(index)))
    }
    return listOf(joined ?? this.#free())
  }

  #map({ entries }: MapLiteral): CelType {
    let [keys, values]: Array<CelType | undefined> = []
    for (const { key, value, isOptional } of entries) {
      keys = this.#join(keys, this.visit(key))
      values = this.#join(values, this.#entryType(value, isOptional))
    }
    return mapOf(keys ?? this.#free(), values ?? this.#free())
  }

  #entryType(expr: Expr, isOptional: boolean): CelType {
    const type = this.visit(expr)
    if (!isOptional) return type
    const inner = unwrapOptional(type)
    if (!inner.isOptional && !isDyn(type)) this.#mismatch(expr.at, optionalOf(type), type)
    return inner.type
  }

  /** Elements of different types make a list of `dyn`. constants.ts rejects such list literals. */
  #join(previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current
    return this.#isAssignable(previous, current) ? mostGeneral(previous, current) : dynType
  }

  #message(at: number, name: string, values: readonly Expr[]): CelType {
    const type = this.#environment.variables.get(name) ?? this.#environment.types.get(name)
    if (!type) return this.#undeclared(at, name)
    const isType = this.#environment.types.has(name)
    const inner = isType ? type.params[0]! : type
    this.#issues.report(at, `'${formatType(inner)}' is not a ${isType ? 'message ' : ''}type`)
    for (const value of values) this.visit(value)
    return errorType
  }

  #fold(expr: Fold): CelType {
    const range = substitute(this.#bindings, this.visit(expr.range))
    const accumulated = this.visit(expr.initial)
    const [first, second] = this.#rangeTypes(expr, range)
    this.#scopes.push(new Map([[expr.accumulator, accumulated]]))
    const loop = new Map([[expr.variable, first]])
    if (expr.variable2 !== undefined) loop.set(expr.variable2, second)
    this.#scopes.push(loop)
    this.#assertType(expr.condition, boolType)
    this.#assertType(expr.step, accumulated)
    this.#scopes.pop()
    const result = this.visit(expr.result)
    this.#scopes.pop()
    return substitute(this.#bindings, result)
  }

  #rangeTypes({ range, variable2 }: Fold, type: CelType): [CelType, CelType] {
    if (type.kind === 'list') return variable2 === undefined ? [type.params[0]!, dynType] : [intType, type.params[0]!]
    if (type.kind === 'map') return [type.params[0]!, type.params[1]!]
    if (isDynOrError(type) || type.kind === 'param') {
      this.#isAssignable(dynType, type)
      return [dynType, dynType]
    }
    const shown = formatType(type)
    const message = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`
    this.#issues.report(range.at, message)
    return [errorType, errorType]
  }

  #assertType(expr: Expr, expected: CelType): void {
    const type = this.visit(expr)
    if (!this.#isAssignable(expected, type)) this.#mismatch(expr.at, expected, type)
  }
}
