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

/** Characters and elements looked at for nothing, per unit of cost: what is left of it bounds the time of an evaluation. */
const workPerCost = 40

export class Meter {
  readonly #limit: number
  #cost = 0
  #work = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get cost(): number {
    return this.#cost
  }

  spend(cost: number): void {
    this.#cost += cost
    if (this.#cost > this.#limit) throw new CostExceeded()
  }

  /** What cel-go has for nothing and takes time all the same: the size of a text, the inside of a list that is compared. */
  work(units: number): void {
    this.#work += units
    if (this.#work > this.#limit * workPerCost) throw new CostExceeded()
  }
}
