/** Calls of functions: which overload it is for the values at hand, and what it costs. Made by plan.ts. */
import { callCost } from './costs.ts'
import { CelFailure, fail, type Meter } from './failures.ts'
import { matches, type Overload } from './functions.ts'
import type { Run, Step } from './paths.ts'
import { type CelValue, typeNameOf } from './values.ts'

interface CallParts {
  readonly name: string
  /** Empty where only the values can tell. */
  readonly overload: string
  readonly candidates: readonly Overload[]
  readonly steps: readonly Step[]
}

export function callStep({ name, overload, candidates, steps }: CallParts): Step {
  const isDear = isQuadratic(overload)
  return (run) => {
    let args: readonly CelValue[] | undefined
    try {
      const values = steps.map((step) => step(run))
      args = values
      const found = candidates.find((one) => matches(one, values)) ?? unmatched(name, values[0])
      const { meter } = run
      // What cannot be paid for is not done in the first place.
      if (isDear) payBefore(name, overload, values, meter)
      const result = found.run(values, meter)
      if (!isDear) meter.spend(callCost({ name, overload, args: values, result, meter }))
      return result
    } catch (error) {
      // A call that failed costs what it would have, for it has looked at its arguments; else only its arguments failed.
      const { meter } = run
      const cost = args && !isDear ? callCost({ name, overload, args, result: null, meter }) : 1
      throw charged(error, run, cost)
    }
  }
}

const isQuadratic = (overload: string): boolean =>
  /^(?:lists_range|list_distinct|list_sets_.*|list_.*_sort|list_.*_sortBy.*|matches_string|string_find_.*)$/.test(
    overload,
  )

function payBefore(name: string, overload: string, args: readonly CelValue[], meter: Meter): void {
  if (overload === 'lists_range') meter.spend(Math.max(Number(args[0]), 0) + 11)
  else meter.spend(callCost({ name, overload, args, result: null, meter }))
}

/** Throwing and catching takes as long as looking at so many elements. */
const failureWork = 20

/** What fails costs as well, and so does each call that it was an argument of. */
export function charged(error: unknown, { meter }: Run, cost: number): unknown {
  if (error instanceof CelFailure) {
    meter.work(failureWork)
    meter.spend(cost)
  }
  return error
}

const numbers = ['int', 'uint', 'double']
const times = ['google.protobuf.Timestamp', 'google.protobuf.Duration']
const comparable = [...numbers, ...times, 'bool', 'string', 'bytes']

/** The types that an operator knows at all: of others, its name is said. */
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
