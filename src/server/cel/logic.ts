/** What decides which parts of an expression are evaluated, and how often: logic that gets over failures, and folds. */
import { CelFailure, fail } from './failures.ts'
import type { Run, Step } from './paths.ts'
import { CelList, CelMap, type CelValue } from './values.ts'

/** `||` where `absorbing` is true, else `&&`: that value decides, whatever fails beside it. */
export function planLogic(terms: readonly Step[], absorbing: boolean): Step {
  return (run) => {
    let failure: CelFailure | undefined
    for (const term of terms) {
      try {
        const value = term(run)
        if (value === absorbing) return absorbing
        if (typeof value !== 'boolean') failure ??= new CelFailure('no such overload')
      } catch (error) {
        if (!(error instanceof CelFailure)) throw error
        failure ??= error
      }
    }
    if (failure) throw failure
    return !absorbing
  }
}

/** A failure is not false: the fold goes on, for a later element may decide. */
export function planNotStrictlyFalse(step: Step): Step {
  return (run) => {
    let value: CelValue = true
    try {
      value = step(run)
    } catch (error) {
      if (!(error instanceof CelFailure)) throw error
    }
    run.meter.spend(1)
    return value !== false
  }
}

interface FoldParts {
  readonly range: Step
  readonly initial: Step
  readonly condition: Step
  readonly step: Step
  readonly result: Step
  /** Of the accumulator, of the variable, and of the second variable where there is one. */
  readonly places: readonly number[]
}

export function foldStep({ range, initial, condition, step, result, places }: FoldParts): Step {
  const [accumulator, variable, variable2] = places as [number, number, number | undefined]
  return (run) => {
    const elements = range(run)
    const keys = keysOf(elements, variable2 !== undefined)
    attempt(run, initial, accumulator)
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index]!
      if (variable2 === undefined) run.places[variable] = key
      else if (elements instanceof CelMap) {
        run.places[variable] = key
        run.places[variable2] = elements.find(key)
      } else {
        run.places[variable] = BigInt(index)
        run.places[variable2] = key
      }
      if (condition(run) === false) break
      attempt(run, step, accumulator)
    }
    return result(run)
  }
}

/** A failure is kept in the accumulator's place: a later step may get over it. */
function attempt(run: Run, step: Step, place: number): void {
  try {
    run.places[place] = step(run)
  } catch (error) {
    if (!(error instanceof CelFailure)) throw error
    run.places[place] = error
  }
}

function keysOf(range: CelValue, hasTwo: boolean): readonly CelValue[] {
  if (range instanceof CelList) return range.toArray()
  if (range instanceof CelMap) return range.keys()
  return fail(hasTwo ? 'unsupported comprehension range type' : 'no such overload')
}
