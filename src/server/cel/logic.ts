/** Steps that control evaluation: logical operators that absorb failures, and folds. */
import { CelFailure, fail } from './failures.ts'
import type { EvaluationState, EvaluationStep } from './paths.ts'
import { CelList, CelMap, type CelValue } from './values.ts'

/** `||` if `absorbing` is true, otherwise `&&`. An operand with the absorbing value takes precedence over failed operands. */
export function planLogic(terms: readonly EvaluationStep[], absorbing: boolean): EvaluationStep {
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

/** A failure counts as not false, so the fold continues: a later element may decide. */
export function planNotStrictlyFalse(step: EvaluationStep): EvaluationStep {
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
  readonly range: EvaluationStep
  readonly initial: EvaluationStep
  readonly condition: EvaluationStep
  readonly step: EvaluationStep
  readonly result: EvaluationStep
  /** Slots of the accumulator, the variable and the optional second variable. */
  readonly slots: readonly number[]
}

export function foldStep({ range, initial, condition, step, result, slots }: FoldParts): EvaluationStep {
  const [accumulator, variable, variable2] = slots as [number, number, number | undefined]
  return (run) => {
    const elements = range(run)
    const keys = keysOf(elements, variable2 !== undefined)
    attempt(run, initial, accumulator)
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index]!
      if (variable2 === undefined) run.slots[variable] = key
      else if (elements instanceof CelMap) {
        run.slots[variable] = key
        run.slots[variable2] = elements.find(key)
      } else {
        run.slots[variable] = BigInt(index)
        run.slots[variable2] = key
      }
      if (condition(run) === false) break
      attempt(run, step, accumulator)
    }
    return result(run)
  }
}

/** Stores a failure in the accumulator's slot, since a later step may absorb it. */
function attempt(run: EvaluationState, step: EvaluationStep, slot: number): void {
  try {
    run.slots[slot] = step(run)
  } catch (error) {
    if (!(error instanceof CelFailure)) throw error
    run.slots[slot] = error
  }
}

function keysOf(range: CelValue, hasTwo: boolean): readonly CelValue[] {
  if (range instanceof CelList) return range.toArray()
  if (range instanceof CelMap) return range.keys()
  return fail(hasTwo ? 'unsupported comprehension range type' : 'no such overload')
}
