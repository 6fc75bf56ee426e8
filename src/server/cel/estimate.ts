/**
 * Estimates the maximum cost of an expression from the sizes that its schema allows. The real server rejects rules by this
 * estimate, so the arithmetic equals that of cel-go and Kubernetes, rounding included.
 */
import type { CallExpr, Expr, Fold } from './ast.ts'
import { callEstimate, type Sized } from './estimate-calls.ts'
import { countRunes } from './failures.ts'
import { add, fixed, type Range, times, union, unknown } from './ranges.ts'
import { type CelType, unwrapOptional } from './types.ts'

/** Maximum size of the value at a schema path; undefined if unknown. */
export type SizeEstimator = (path: readonly string[]) => Range | undefined

export function estimateCost(expr: Expr, sizeAt: SizeEstimator): Range {
  return new CostEstimator(sizeAt).cost(expr)
}

/** Sizes of the keys and values of a list or map. */
interface EntrySize {
  readonly kind: 'list' | 'map'
  readonly key: Range
  readonly value: Range
}

interface LocalVariable {
  readonly path: readonly string[]
  readonly size: Range | undefined
  readonly entries: EntrySize | undefined
}

const scalars: ReadonlySet<string> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint'])

function isScalar(type: CelType): boolean {
  const inner = unwrapOptional(type)
  return inner.isOptional ? isScalar(inner.type) : scalars.has(type.kind)
}

class CostEstimator {
  readonly #sizeAt: SizeEstimator
  readonly #paths = new Map<Expr, readonly string[]>()
  readonly #sizes = new Map<Expr, Range>()
  readonly #entries = new Map<Expr, EntrySize>()
  readonly #locals = new Map<string, LocalVariable[]>()

  constructor(sizeAt: SizeEstimator) {
    this.#sizeAt = sizeAt
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'ident':
        this.#paths.set(expr, this.#local(expr.name)?.path ?? [expr.name])
        return fixed(1)
      case 'select':
        return this.#selectCost(expr)
      case 'call':
        return this.#callCost(expr)
      case 'list':
        return this.#listCost(expr)
      case 'map':
        return this.#mapCost(expr)
      case 'fold':
        return this.#isBind(expr) ? this.#bindCost(expr) : this.#foldCost(expr)
      default:
        return fixed(0)
    }
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1)
  }

  #push(name: string, variable: LocalVariable): void {
    this.#locals.set(name, [...(this.#locals.get(name) ?? []), variable])
  }

  #pop(name: string): void {
    this.#locals.get(name)!.pop()
  }

  #pathOf(expr: Expr): readonly string[] {
    return (expr.kind === 'ident' ? this.#local(expr.name)?.path : undefined) ?? this.#paths.get(expr) ?? []
  }

  #selectCost(expr: Extract<Expr, { kind: 'select' }>): Range {
    // A type name with dots, such as `net.IP`, is a single name.
    if (expr.type?.kind === 'type') {
      this.#paths.set(expr, [expr.field])
      return fixed(1)
    }
    const operand = this.cost(expr.operand)
    if (expr.isTest) return operand
    this.#paths.set(expr, [...this.#pathOf(expr.operand), expr.field])
    const kind = expr.operand.type?.kind
    return kind === 'map' || kind === 'struct' || kind === 'param' ? add(operand, fixed(1)) : operand
  }

  #callCost(expr: CallExpr): Range {
    const { args, name, target, overloads = [] } = expr
    if (name === 'dyn') {
      const cost = add(fixed(1), this.cost(args[0]!))
      this.#copySizes(expr, args[0]!)
      return cost
    }
    const costs = args.map((arg) => this.cost(arg))
    const sized = args.map((arg) => this.#sized(arg))
    const base = target ? this.cost(target) : fixed(0)
    const own = target ? this.#sized(target) : undefined
    if (overloads.length === 0) return fixed(0)
    let total: Range | undefined
    let size: Range | undefined
    for (const overload of overloads) {
      const found = callEstimate({ name, overload, target: own, args: sized, costs })
      total = total ? union(total, found.cost) : found.cost
      if (found.size) size = size ? union(size, found.size) : found.size
      this.#noteEntries(expr, overload)
      if (overload === 'index_list' || overload === 'index_map') {
        size = this.#entriesOf(args[0]!)?.value
        this.#paths.set(expr, [...this.#pathOf(args[0]!), overload === 'index_list' ? '@items' : '@values'])
      }
      size ??= this.#sizeOf(expr)
    }
    if (size) this.#sizes.set(expr, size)
    return add(base, total!)
  }

  /** A concatenation or conditional has the union of the element sizes of its operands. */
  #noteEntries(expr: CallExpr, overload: string): void {
    const isJoin = overload === 'add_string' || overload === 'add_bytes' || overload === 'add_list'
    if (overload !== 'conditional' && !isJoin) return
    const [left, right] = expr.args.slice(-2).map((arg) => this.#entriesOf(arg))
    if (!left || !right) return
    this.#entries.set(expr, { kind: left.kind, key: union(left.key, right.key), value: union(left.value, right.value) })
  }

  #sized(expr: Expr): Sized {
    const path = this.#pathOf(expr)
    return {
      expr,
      type: expr.type!,
      size: this.#sizeOf(expr),
      itemSize: this.#itemSize(path),
    }
  }

  #itemSize(path: readonly string[]): Range | undefined {
    return path.length === 0 || path[0] === '@result' ? undefined : this.#sizeAt([...path, '@items'])
  }

  #sizeOf(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr) ?? literalSize(expr)
    if (known) return known
    const path = this.#pathOf(expr)
    const estimated = path.length === 0 ? undefined : this.#sizeAt(path)
    if (estimated) {
      this.#sizes.set(expr, estimated)
      return estimated
    }
    if (isScalar(expr.type!)) return fixed(1)
    return expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined
  }

  #entriesOf(expr: Expr): EntrySize | undefined {
    return this.#entries.get(expr) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.entries : undefined)
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#sizeOf(from)
    const entries = this.#entriesOf(from)
    if (size) this.#sizes.set(to, size)
    if (entries) this.#entries.set(to, entries)
  }

  #listCost(expr: Extract<Expr, { kind: 'list' }>): Range {
    let total = fixed(10)
    let value: Range | undefined
    for (const element of expr.elements) {
      total = add(total, this.cost(element))
      const size = this.#sizeOf(element) ?? unknown
      value = value ? union(value, size) : size
    }
    this.#entries.set(expr, { kind: 'list', key: fixed(1), value: value ?? fixed(0) })
    return total
  }

  #mapCost(expr: Extract<Expr, { kind: 'map' }>): Range {
    let total = fixed(30)
    let [keys, values]: Array<Range | undefined> = []
    for (const { key, value } of expr.entries) {
      total = add(total, add(this.cost(key), this.cost(value)))
      const [keySize, valueSize] = [this.#sizeOf(key) ?? unknown, this.#sizeOf(value) ?? unknown]
      keys = keys ? union(keys, keySize) : keySize
      values = values ? union(values, valueSize) : valueSize
    }
    this.#entries.set(expr, { kind: 'map', key: keys ?? fixed(0), value: values ?? fixed(0) })
    return total
  }

  #foldCost(expr: Fold): Range {
    const before = add(this.cost(expr.range), this.cost(expr.initial))
    this.#bindLocal(expr.accumulator, expr.initial)
    this.#pushVariables(expr)
    const perElement = add(this.cost(expr.condition), this.cost(expr.step))
    this.#pop(expr.variable)
    if (expr.variable2 !== undefined) this.#pop(expr.variable2)
    const after = this.cost(expr.result)
    this.#pop(expr.accumulator)
    const count = this.#sizeOf(expr.range) ?? unknown
    this.#noteFold(expr, count)
    return add(add(before, after), times(count, perElement))
  }

  #noteFold(expr: Fold, count: Range): void {
    const { kind } = expr.initial
    if (kind === 'literal') this.#sizes.set(expr, this.#sizeOf(expr.initial) ?? unknown)
    if (kind !== 'list' && kind !== 'map') return
    this.#sizes.set(expr, count)
    const entries = this.#entriesOf(expr.step)
    if (entries) this.#entries.set(expr, entries)
  }

  #bindLocal(name: string, value: Expr): void {
    this.#push(name, { path: this.#pathOf(value), size: this.#sizeOf(value), entries: this.#entriesOf(value) })
  }

  #pushVariables({ range, variable, variable2 }: Fold): void {
    const entries = this.#entriesOf(range)
    const kind = entries?.kind ?? (range.type?.kind === 'list' ? 'list' : 'map')
    const path = this.#pathOf(range)
    const inside = (name: string, part: string, size: Range | undefined): void => {
      this.#push(name, { path: [...path, part], size, entries: undefined })
    }
    const [keyPart, valuePart] = kind === 'list' ? ['@indices', '@items'] : ['@keys', '@values']
    if (variable2 !== undefined) {
      inside(variable, keyPart, entries?.key)
      inside(variable2, valuePart, entries?.value)
    } else if (kind === 'list') inside(variable, '@items', entries?.value)
    else inside(variable, '@keys', entries?.key)
  }

  #isBind({ range, condition, accumulator }: Fold): boolean {
    const isEmpty = range.kind === 'list' && range.elements.length === 0
    const isNever = condition.kind === 'literal' && condition.value === false
    return isEmpty && isNever && accumulator !== '__result__'
  }

  #bindCost(expr: Fold): Range {
    const before = add(this.cost(expr.range), this.cost(expr.initial))
    this.#bindLocal(expr.accumulator, expr.initial)
    const after = this.cost(expr.result)
    this.#pop(expr.accumulator)
    this.#copySizes(expr, expr.result)
    return add(before, after)
  }
}

function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === 'list') return fixed(expr.elements.length)
  if (expr.kind === 'map') return fixed(expr.entries.length)
  if (expr.kind !== 'literal') return undefined
  if (typeof expr.value === 'string') return fixed(countRunes(expr.value))
  return fixed(expr.value instanceof Uint8Array ? expr.value.length : 1)
}
