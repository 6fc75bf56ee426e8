/** Time of a process that can be killed: it shares the clock of the world, and stands still for ever after its end. */

import type { SkippingClock } from '../../src/testing/skipping-clock.ts'
import type { Clock } from '../../src/util/clock.ts'
import { nextTurn } from '../../src/util/clock.ts'

export class MortalClock implements Clock {
  readonly #world: Clock
  readonly #end: AbortSignal
  readonly #offsetMs: () => number

  /** `offsetMs`: how much the time of day is off, which somebody may set at any time. */
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

/** Never settles: what waits for it is garbage. */
export function forever(): Promise<never> {
  return new Promise(() => {})
}

/** Everything that waits for nothing but its turn has had it. */
async function settleTurns(clock: SkippingClock): Promise<void> {
  for (let calm = 0, seen = clock.changes; calm < 4; calm += 1) {
    await nextTurn()
    if (clock.changes === seen) continue
    seen = clock.changes
    calm = 0
  }
}

/** Lets the world go on until a moment, or until it is so. */
export async function pass(clock: SkippingClock, untilMs: number, isSo: () => boolean = () => false): Promise<void> {
  for (;;) {
    await settleTurns(clock)
    if (isSo()) return
    if (!clock.skip(untilMs)) break
  }
  clock.set(untilMs)
  await settleTurns(clock)
}
