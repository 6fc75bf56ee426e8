/**
 * Type assignability and the inference of type parameters, as in cel-go's checker. It is lenient in the same places, so that
 * the same rules compile.
 */
import { type CelType, dynType, isDyn, isDynOrError, isSameType, listOf, mapOf, opaque, typeOfType } from './types.ts'

/**
 * The inferred type of each type parameter. A failed attempt is rolled back from a trail, since copying the map per attempt
 * would be quadratic.
 */
export class TypeBindings {
  readonly #types = new Map<string, CelType>()
  readonly #trail: Array<readonly [name: string, before: CelType | undefined]> = []

  get(name: string): CelType | undefined {
    return this.#types.get(name)
  }

  set(name: string, type: CelType): void {
    this.#trail.push([name, this.#types.get(name)])
    this.#types.set(name, type)
  }

  /** Returns the result of `work`. If it is false, all changes are rolled back. */
  attempt(work: () => boolean): boolean {
    const isDone = work()
    for (const [name, before] of isDone ? [] : this.#trail.toReversed()) {
      if (before === undefined) this.#types.delete(name)
      else this.#types.set(name, before)
    }
    // Attempts are not nested, so a successful attempt is final.
    this.#trail.length = 0
    return isDone
  }
}

/** True if the types are assignable; the inferred type parameters are then in the bindings. */
export function assign(bindings: TypeBindings, to: readonly CelType[], from: readonly CelType[]): boolean {
  return bindings.attempt(() => areAssignable(bindings, to, from))
}

function areAssignable(bindings: TypeBindings, left: readonly CelType[], right: readonly CelType[]): boolean {
  return left.length === right.length && left.every((one, index) => isAssignable(bindings, one, right[index]!))
}

function isAssignable(bindings: TypeBindings, left: CelType, right: CelType): boolean {
  if (right.kind === 'param') {
    const { isValid, isBound } = bind(bindings, left, right)
    if (isValid || isBound) return isValid
  }
  if (left.kind === 'param') return bind(bindings, right, left).isValid
  if (isDynOrError(left) || isDynOrError(right)) return true
  if (left.kind === 'null') return isNullable(right)
  if (right.kind === 'null') return isNullable(left)
  if (left.kind !== right.kind) return false
  if (left.kind === 'type') return true
  return left.name === right.name && areAssignable(bindings, left.params, right.params)
}

/** Includes types whose values are never null, as in the first cel-go checkers. */
function isNullable({ kind }: CelType): boolean {
  return ['null', 'opaque', 'struct', 'duration', 'timestamp'].includes(kind)
}

function bind(bindings: TypeBindings, type: CelType, to: CelType): { isValid: boolean; isBound: boolean } {
  if (isSameType(type, to)) return { isValid: true, isBound: true }
  const bound = bindings.get(to.name)
  if (bound) {
    if (isSameType(type, bound)) return { isValid: true, isBound: true }
    if (!isAssignable(bindings, type, bound)) return { isValid: false, isBound: true }
    const general = mostGeneral(type, bound)
    if (!occursIn(bindings, to, general)) bindings.set(to.name, general)
    return { isValid: true, isBound: true }
  }
  if (occursIn(bindings, to, type)) return { isValid: false, isBound: false }
  bindings.set(to.name, type)
  return { isValid: true, isBound: false }
}

export function mostGeneral(left: CelType, right: CelType): CelType {
  return isEqualOrLessSpecific(left, right) ? left : right
}

function isEqualOrLessSpecific(left: CelType, right: CelType): boolean {
  if (isDyn(left) || left.kind === 'param') return true
  if (isDyn(right) || right.kind === 'param') return false
  if (left.kind !== right.kind) return false
  if (left.kind === 'type') return true
  if (left.name !== right.name || left.params.length !== right.params.length) return false
  return left.params.every((one, index) => isEqualOrLessSpecific(one, right.params[index]!))
}

function occursIn(bindings: TypeBindings, type: CelType, outer: CelType): boolean {
  if (isSameType(type, outer)) return true
  if (outer.kind === 'param') {
    const bound = bindings.get(outer.name)
    return bound !== undefined && occursIn(bindings, type, bound)
  }
  return outer.params.some((one) => occursIn(bindings, type, one))
}

/** Replaces type parameters by their inferred types. `free` decides whether unbound parameters stay or become `dyn`. */
export function substitute(bindings: TypeBindings, type: CelType, free: 'keep' | 'dyn' = 'keep'): CelType {
  if (type.kind === 'param') {
    const bound = bindings.get(type.name)
    if (bound) return substitute(bindings, bound, free)
    return free === 'dyn' ? dynType : type
  }
  if (type.params.length === 0) return type
  const params = type.params.map((one) => substitute(bindings, one, free))
  if (type.kind === 'list') return listOf(params[0]!)
  if (type.kind === 'map') return mapOf(params[0]!, params[1]!)
  return type.kind === 'type' ? typeOfType(params[0]!) : opaque(type.name, ...params)
}
