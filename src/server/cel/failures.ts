/**
 * Evaluation errors and cost limits. The costs are cel-go's. In addition, a work budget counts operations that cel-go does not
 * charge for, so that no rule can block the server.
 */

/** A CEL error, which `||` and `&&` can absorb. It does not extend Error, since it may be thrown a million times. */
export class CelFailure {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

export const fail = (message: string): never => {
  throw new CelFailure(message)
}

export const noSuchOverload = (): never => fail('no such overload')

/** The cost limit is exceeded. Nothing absorbs this error. */
export class CostExceeded extends Error {
  override readonly name = 'CostExceeded'

  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

/** Maximum uncharged work for one object, in list elements or hundreds of characters. */
const maxWork = 30_000_000
/** Maximum uncharged work for one expression, per unit of its cost limit. */
const workPerCost = 10
/** Shorter strings are counted faster than they are looked up in the cache. */
const longText = 256

/** Shared by all expressions evaluated for one object. */
export class WorkBudget {
  remaining: number = maxWork
}

export class Meter {
  readonly #limit: number
  readonly #budget: WorkBudget
  readonly #sizes = new Map<string, number>()
  #cost = 0
  #work = 0

  constructor(limit: number, budget: WorkBudget = new WorkBudget()) {
    this.#limit = limit
    this.#budget = budget
  }

  get cost(): number {
    return this.#cost
  }

  spend(cost: number): void {
    this.#cost += cost
    if (this.#cost > this.#limit) throw new CostExceeded()
  }

  /** Charges work that costs nothing in cel-go but takes time: comparing the contents of lists, handling failures. */
  work(units: number): void {
    this.#work += units
    this.#budget.remaining -= units
    if (this.#work > this.#limit * workPerCost || this.#budget.remaining < 0) throw new CostExceeded()
  }

  /** Length in code points. Cached, since rules ask for the length of the same string with every element. */
  sizeOf(text: string): number {
    if (text.length < longText) return countRunes(text)
    const known = this.#sizes.get(text)
    if (known !== undefined) return known
    this.work(text.length / 20)
    const size = countRunes(text)
    this.#sizes.set(text, size)
    return size
  }
}

/** Number of code points: a surrogate pair counts as one. */
export function countRunes(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length - 1; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit < 0xd800 || unit > 0xdbff) continue
    const next = text.charCodeAt(index + 1)
    if (next >= 0xdc00 && next <= 0xdfff) {
      count -= 1
      index += 1
    }
  }
  return count
}
