/** Resolves variables and paths that start from them: `self.spec.list[0]`, `self.?field`. Used by the steps of plan.ts. */
import { CelFailure, fail, type Meter } from './failures.ts'
import { CelList, CelMap, type CelValue, Optional, Uint } from './values.ts'

/** State of an evaluation. Each variable, those of folds included, has a slot; the slot of an accumulator may hold a failure. */
export interface EvaluationState {
  readonly slots: Array<CelValue | CelFailure | undefined>
  readonly meter: Meter
}

export type EvaluationStep = (run: EvaluationState) => CelValue

export interface Qualifier {
  readonly key: EvaluationStep
  /** Cost of the lookup; 0 if the key is itself a path, which has its own cost. */
  readonly price: 0 | 1
  /** True for `.?` and `[?`. */
  readonly isOptional: boolean
  /** True for the last qualifier of `has(…)`. */
  readonly isTest: boolean
}

export function readSlot({ slots }: EvaluationState, slot: number, name: string): CelValue {
  const value = slots[slot]
  if (value instanceof CelFailure) throw value
  return value === undefined ? fail(`no such attribute(s): ${name}`) : value
}

/** Follows the qualifiers from the root. After an optional qualifier, a missing value is `optional.none` and costs nothing. */
export function resolve(root: CelValue, qualifiers: readonly Qualifier[], run: EvaluationState): CelValue {
  let value = root
  let isOptional = false
  for (const { key, price, isOptional: isAsked, isTest } of qualifiers) {
    if (value instanceof Optional) {
      isOptional = true
      if (value.value === undefined) return isTest ? false : Optional.none
      value = value.value
    }
    isOptional ||= isAsked
    const found = access(value, key(run), isOptional || isTest)
    if (found !== undefined || isTest) run.meter.spend(price)
    if (isTest) return found !== undefined
    if (found === undefined) return Optional.none
    value = found
  }
  if (!isOptional) return value
  return value instanceof Optional ? value : new Optional(value)
}

/** The value, or undefined if it is missing in a presence test. Otherwise a missing value is a failure. */
function access(value: CelValue, key: CelValue, isPresenceTest: boolean): CelValue | undefined {
  if (value instanceof CelMap) {
    const found = value.find(key)
    return found !== undefined || isPresenceTest ? found : fail(`no such key: ${printKey(key)}`)
  }
  if (value instanceof CelList) {
    const index = indexOf(key)
    if (index >= 0 && index < value.size) return value.at(index)
    return isPresenceTest ? undefined : fail(`index out of bounds: ${printKey(key)}`)
  }
  return isPresenceTest ? undefined : fail(typeof key === 'string' ? `no such key: ${key}` : 'no such overload')
}

function indexOf(key: CelValue): number {
  if (typeof key === 'bigint') return Number(key)
  if (key instanceof Uint) return Number(key.value)
  if (typeof key === 'number' && Number.isInteger(key)) return key
  return fail(`unsupported index type '${typeof key === 'number' ? 'double' : typeof key}' in list`)
}

function printKey(key: CelValue): string {
  return key instanceof Uint ? String(key.value) : String(key)
}
