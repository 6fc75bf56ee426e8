/**
 * Limits the calls within one turn of the event loop. Work that consists of microtasks only, such as two operators in this process that answer each
 * other's writes, would otherwise never let timers, signals and sockets take place.
 */
import { nextTurn } from '../util/async/clock.ts'

export class TurnBudget {
  readonly #limit: number
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Counts a call. Returns true if the turn has had enough of them: the caller then waits for the next turn. */
  isSpent(): boolean {
    if (this.#used === 0) void nextTurn().then(() => this.#reset())
    this.#used += 1
    return this.#used > this.#limit
  }

  #reset(): void {
    this.#used = 0
  }
}
