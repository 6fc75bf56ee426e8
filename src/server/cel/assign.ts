/**
 * Which type may stand for which, and what type parameters then are: the unification of cel-go's checker. It is loose in
 * the same places, for the same rules have to pass.
 */
import { type CelType, dynType, isDyn, isDynOrError, isSameType, listOf, mapOf, opaque, typeOfType } from './types.ts'

/** What each type parameter was found to be. A failed attempt is undone: copying all of them each time would be quadratic. */
export class Bindings {
  readonly #types = new Map<string, CelType>()
  readonly #trail: Array<readonly [name: string, before: CelType | undefined]> = []

  get(name: string): CelType | undefined {
    return this.#types.get(name)
  }

  set(name: string, type: CelType): void {
    this.#trail.push([name, this.#types.get(name)])
    this.#types.set(name, type)
  }

  /** Whether it came to be true; otherwise nothing has happened. */
  attempt(work: () => boolean): boolean {
    const isDone = work()
    for (const [name, before] of isDone ? [] : this.#trail.toReversed()) {
      if (before === undefined) this.#types.delete(name)
      else this.#types.set(name, before)
    }
    // Attempts are not nested: what is done will not be undone.
    this.#trail.length = 0
    return isDone
  }
}

/** Whether the types fit; what had to be assumed for it is in the bindings then. */
export function assign(bindings: Bindings, to: readonly CelType[], from: readonly CelType[]): boolean {
  return bindings.attempt(() => areAssignable(bindings, to, from))
}

function areAssignable(bindings: Bindings, left: readonly CelType[], right: readonly CelType[]): boolean {
  return left.length === right.length && left.every((one, index) => isAssignable(bindings, one, right[index]!))
}

function isAssignable(bindings: Bindings, left: CelType, right: CelType): boolean {
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

/** Also types whose values are never null, as the first checkers had it. */
function isNullable({ kind }: CelType): boolean {
  return ['null', 'opaque', 'struct', 'duration', 'timestamp'].includes(kind)
}

function bind(bindings: Bindings, type: CelType, to: CelType): { isValid: boolean; isBound: boolean } {
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

function occursIn(bindings: Bindings, type: CelType, within: CelType): boolean {
  if (isSameType(type, within)) return true
  if (within.kind === 'param') {
    const bound = bindings.get(within.name)
    return bound !== undefined && occursIn(bindings, type, bound)
  }
  return within.params.some((one) => occursIn(bindings, type, one))
}

/** Parameters replaced by what they are bound to; `free` says what becomes of those that are not. */
export function substitute(bindings: Bindings, type: CelType, free: 'keep' | 'dyn' = 'keep'): CelType {
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
