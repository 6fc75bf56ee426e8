/** A clock for tests without waiting: it stands still until somebody skips to whoever would wake next. */

import type { Transport } from '../../src/util/transport.ts'

interface Sleeper {
  readonly untilMs: number
  wake(): void
}

export class SkippingClock {
  #nowMs: number
  readonly #sleepers = new Set<Sleeper>()
  /** Grows with every fall asleep and awakening: whether something has happened. */
  #changes = 0

  constructor(nowMs: number = Date.UTC(2030, 0, 1)) {
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  get changes(): number {
    return this.#changes
  }

  /** Something has happened that is none of the clock's business: whoever waits for calm waits on. */
  stir(): void {
    this.#changes += 1
  }

  get sleeping(): number {
    return this.#sleepers.size
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      const leave = (): void => {
        this.#changes += 1
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', interrupt)
      }
      const interrupt = (): void => {
        leave()
        reject(signal?.reason)
      }
      const wake = (): void => {
        leave()
        resolve()
      }
      const sleeper: Sleeper = { untilMs: this.#nowMs + Math.max(0, delayMs), wake }
      this.#changes += 1
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', interrupt, { once: true })
    })
  }

  /** To the earliest awakening, unless that is later than the limit; whether there was one. */
  skip(limitMs: number = Infinity): boolean {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers) if (next === undefined || sleeper.untilMs < next.untilMs) next = sleeper
    if (next === undefined || next.untilMs > limitMs) return false
    this.#nowMs = Math.max(this.#nowMs, next.untilMs)
    next.wake()
    return true
  }

  /** To a moment, waking nobody before it is reached by `skip`. */
  set(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
  }
}

/** Lets everything run that waits for nothing but its turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** How many turns without anything happening are calm: an answer in process takes a few, a daemon is given ten to end. */
const calmTurns = 12

/** Everything that waits for nothing but its turn has had it. */
export async function calm(clock: SkippingClock): Promise<void> {
  for (let turns = 0, seen = clock.changes; turns < calmTurns; turns += 1) {
    await turn()
    if (clock.changes === seen) continue
    seen = clock.changes
    turns = 0
  }
}

/** The same transport, whose traffic keeps a clock from skipping. */
export function stirring(transport: Transport, clock: SkippingClock): Transport {
  return {
    async send(request, signal) {
      clock.stir()
      try {
        const response = await transport.send(request, signal)
        return { ...response, body: stirringBody(response.body, clock) }
      } finally {
        clock.stir()
      }
    },
  }
}

function stirringBody(body: AsyncIterable<Uint8Array>, clock: SkippingClock): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const result = await chunks.next()
        clock.stir()
        return result
      },
      return: async () => (await chunks.return?.()) ?? { done: true, value: undefined },
    }),
  }
}
