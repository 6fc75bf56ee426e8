/** The clock of a process that can be killed: it follows the clock of the world, and never wakes a sleeper after its end. */
import type { SkippingClock } from '../../src/testing/skipping-clock.ts'
import { type Clock, nextTurn } from '../../src/util/async/clock.ts'

export class MortalClock implements Clock {
  readonly #world: Clock
  readonly #end: AbortSignal
  readonly #offsetMs: () => number

  /** `offsetMs`: the current error of the system time. */
  constructor(world: Clock, end: AbortSignal, offsetMs: () => number) {
    this.#world = world
    this.#end = end
    this.#offsetMs = offsetMs
  }

  now(): number {
    return this.#world.now() + this.#offsetMs()
  }

  monotonic(): number {
    return this.#world.now()
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    try {
      await this.#world.sleep(delayMs, signal)
    } finally {
      if (this.#end.aborted) await forever()
    }
  }
}

/** Never settles, so its waiters can be garbage collected. */
export function forever(): Promise<never> {
  return new Promise(() => {})
}

/** Runs the event loop until nothing happens without time passing. */
async function settleTurns(clock: SkippingClock): Promise<void> {
  for (let calm = 0, seen = clock.changes; calm < 4; calm += 1) {
    await nextTurn()
    if (clock.changes === seen) continue
    seen = clock.changes
    calm = 0
  }
}

/** Lets the time pass until the given time, or until the condition is true. */
export async function pass(clock: SkippingClock, untilMs: number, isSo: () => boolean = () => false): Promise<void> {
  for (;;) {
    await settleTurns(clock)
    if (isSo()) return
    if (!clock.skip(untilMs)) break
  }
  clock.set(untilMs)
  await settleTurns(clock)
}
