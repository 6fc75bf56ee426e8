/** Steps for function calls: select the overload by the argument values and charge the cost. Used by plan.ts. */
import { callCost } from './costs.ts'
import { CelFailure, fail, type Meter } from './failures.ts'
import { matches, type Overload } from './functions.ts'
import type { EvaluationState, EvaluationStep } from './paths.ts'
import { type CelValue, typeNameOf } from './values.ts'

interface CallParts {
  readonly name: string
  /** '' if the overload depends on the argument values. */
  readonly overload: string
  readonly candidates: readonly Overload[]
  readonly steps: readonly EvaluationStep[]
}

export function callStep({ name, overload, candidates, steps }: CallParts): EvaluationStep {
  const isChargedBefore = isQuadratic(overload)
  return (run) => {
    let args: readonly CelValue[] | undefined
    try {
      const values = steps.map((step) => step(run))
      args = values
      const found = candidates.find((one) => matches(one, values)) ?? unmatched(name, values[0])
      const { meter } = run
      // Quadratic functions are charged before they run, so that a call beyond the limit does not run at all.
      if (isChargedBefore) chargeBefore(name, overload, values, meter)
      const result = found.run(values, meter)
      if (!isChargedBefore) meter.spend(callCost({ name, overload, args: values, result, meter }))
      return result
    } catch (error) {
      // A call that fails after its arguments were evaluated costs as much as a successful call; if an argument failed, the
      // call costs 1.
      const { meter } = run
      const cost = args && !isChargedBefore ? callCost({ name, overload, args, result: null, meter }) : 1
      throw charged(error, run, cost)
    }
  }
}

const isQuadratic = (overload: string): boolean =>
  /^(?:lists_range|list_distinct|list_sets_.*|list_.*_sort|list_.*_sortBy.*|matches_string|string_find_.*)$/.test(
    overload,
  )

function chargeBefore(name: string, overload: string, args: readonly CelValue[], meter: Meter): void {
  if (overload === 'lists_range') meter.spend(Math.max(Number(args[0]), 0) + 11)
  else meter.spend(callCost({ name, overload, args, result: null, meter }))
}

/** Work units of throwing and catching a failure, in list elements. */
const failureWork = 20

/** Charges for a failed call. Each enclosing call charges again as the failure propagates. */
export function charged(error: unknown, { meter }: EvaluationState, cost: number): unknown {
  if (error instanceof CelFailure) {
    meter.work(failureWork)
    meter.spend(cost)
  }
  return error
}

const numbers = ['int', 'uint', 'double']
const times = ['google.protobuf.Timestamp', 'google.protobuf.Duration']
const comparable = [...numbers, ...times, 'bool', 'string', 'bytes']

/** Operand types of each operator. For an operand of another type, the error names the operator. */
const operands: Readonly<Record<string, readonly string[]>> = {
  '_+_': [...numbers, ...times, 'string', 'bytes', 'list'],
  '_-_': [...numbers, ...times],
  '_*_': numbers,
  '_/_': numbers,
  '_%_': ['int', 'uint'],
  '_<_': comparable,
  '_<=_': comparable,
  '_>_': comparable,
  '_>=_': comparable,
  '-_': ['int', 'double', 'bool'],
  '!_': ['int', 'double', 'bool'],
  size: ['string', 'bytes', 'list', 'map'],
}

function unmatched(name: string, first: CelValue | undefined): never {
  const known = Object.hasOwn(operands, name) ? operands[name] : undefined
  const isKnown = !known || first === undefined || known.includes(typeNameOf(first))
  return fail(isKnown ? 'no such overload' : `no such overload: ${name}`)
}
