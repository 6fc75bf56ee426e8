/**
 * Recursion without the call stack, for functions over nested documents: the API server accepts 10,000 levels, and the call stack ends at
 * about 3,000.
 */

/** A recursive function as a generator: it yields the calls it makes, and each `yield` evaluates to the result of that call. */
export interface Recursion<Result> extends Generator<Recursion<Result>, Result, Result> {}

/** Runs the function to its end, with the pending calls in a list. */
export function runRecursion<Result>(outermost: Recursion<Result>): Result {
  const waiting: Array<Recursion<Result>> = []
  let current = outermost
  let step = current.next()
  for (;;) {
    if (!step.done) {
      waiting.push(current)
      current = step.value
      step = current.next()
      continue
    }
    const caller = waiting.pop()
    if (caller === undefined) return step.value
    current = caller
    step = current.next(step.value)
  }
}
