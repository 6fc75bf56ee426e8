/** Variables and the paths that start from them: `self.spec.list[0]`, `self.?field`. Called by plan.ts's steps. */
import { CelFailure, fail, type Meter } from './failures.ts'
import { CelList, CelMap, type CelValue, Optional, Uint } from './values.ts'

/** What an evaluation runs on: every variable has a place, those of folds too. An accumulator may have failed. */
export interface Run {
  readonly places: Array<CelValue | CelFailure | undefined>
  readonly meter: Meter
}

export type Step = (run: Run) => CelValue

export interface Qualifier {
  readonly key: Step
  /** Of looking it up: nothing where the key is a path, which has its own. */
  readonly price: 0 | 1
  /** `.?` and `[?`. */
  readonly isOptional: boolean
  /** The last of `has(…)`. */
  readonly isTest: boolean
}

export function readPlace({ places }: Run, place: number, name: string): CelValue {
  const value = places[place]
  if (value instanceof CelFailure) throw value
  return value === undefined ? fail(`no such attribute(s): ${name}`) : value
}

/** From the root along the qualifiers. Past an optional one, what is missing is no error but no value, and is free. */
export function resolve(root: CelValue, qualifiers: readonly Qualifier[], run: Run): CelValue {
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

/** Undefined for what is not there, where that is asked; else a failure. */
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
