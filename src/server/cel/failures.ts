/**
 * How the evaluation of an expression ends without a value, and what it may cost at most. The numbers are cel-go's; beside
 * them all work that they do not count is counted here, for no rule may stop the server.
 */

/** An error in CEL's sense: `||` and `&&` may get over it. No `Error`, for it may be thrown a million times. */
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

/** The budget is gone: nothing gets over this. */
export class CostExceeded extends Error {
  override readonly name = 'CostExceeded'

  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

/** What is done beside the costs of the language, in elements and in hundreds of characters, for one object at most. */
const maxWork = 30_000_000
/** The same for one expression, per unit of its limit. */
const workPerCost = 10
/** Shorter texts are counted faster than they are looked up. */
const longText = 256

/** Shared by all expressions that are evaluated for one object. */
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

  /** What cel-go has for nothing and takes time all the same: the inside of a list that is compared, a failure. */
  work(units: number): void {
    this.#work += units
    this.#budget.remaining -= units
    if (this.#work > this.#limit * workPerCost || this.#budget.remaining < 0) throw new CostExceeded()
  }

  /** In characters. What was counted once is not counted again, for rules ask for the same text with every element. */
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

/** As Unicode counts them: two halves of a surrogate pair are one. */
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
