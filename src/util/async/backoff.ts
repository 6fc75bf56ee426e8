/**
 * Delays between attempts. `exponential` and `steps` are pure: the delay of the n-th retry. `Backoff` and `LimitedBackoff` count
 * the attempts for callers that have no counter of their own. Nothing here sleeps.
 */

/** Milliseconds to wait after attempt number `attempt`, counted from 0. */
export type Delays = (attempt: number) => number

/** Varies a delay, so that many clients that failed together do not retry together. */
export type Jitter = (delayMs: number) => number

/** Between half of the delay and the whole delay. `random` returns a number from 0 to 1. */
export function equalJitter(random: () => number): Jitter {
  return (delayMs) => delayMs * (0.5 + random() / 2)
}

/** The delay and up to `share` of it in addition: never shorter than the delay. */
export function addedJitter(share: number, random: () => number): Jitter {
  return (delayMs) => delayMs * (1 + share * random())
}

/** Lower limit of `firstMs` after the first retry, so that a first delay of 0 does not retry a failing server without a pause. */
const minRepeatedMs = 100

/** Exponents beyond this make no difference: the maximum is reached, and 2 ** 1024 is no finite number. */
const maxExponent = 60

export interface ExponentialOptions {
  /** The delay before the first retry. A function is called for each delay, for settings that may change. */
  readonly firstMs: number | (() => number)
  /** The largest delay before jitter. `firstMs` counts instead where it is larger. */
  readonly maxMs: number
  /** Default: none. */
  readonly jitter?: Jitter
}

/** Doubles the delay with each attempt, up to `maxMs`. */
export function exponential({ firstMs, maxMs, jitter = (delayMs) => delayMs }: ExponentialOptions): Delays {
  return (attempt) => {
    const first = typeof firstMs === 'number' ? firstMs : firstMs()
    const base = attempt === 0 ? first : Math.max(first, minRepeatedMs)
    return jitter(Math.min(base * 2 ** Math.min(attempt, maxExponent), Math.max(first, maxMs)))
  }
}

/** One delay per attempt, in this order; the last one repeats. */
export function steps(delaysMs: readonly number[]): Delays {
  return (attempt) => delaysMs[Math.min(attempt, delaysMs.length - 1)]!
}

/** Counts the attempts of a sequence of delays that does not end. */
export class Backoff {
  readonly #delays: Delays
  #attempts = 0

  constructor(delays: Delays) {
    this.#delays = delays
  }

  /** The number of delays given since the start or the last reset. */
  get attempts(): number {
    return this.#attempts
  }

  next(): number {
    const delayMs = this.#delays(this.#attempts)
    this.#attempts += 1
    return delayMs
  }

  reset(): void {
    this.#attempts = 0
  }
}

/** Each delay of an iterable once, which may be endless; then `undefined`: no further attempt. */
export class LimitedBackoff {
  readonly #delaysMs: Iterable<number>
  #iterator: Iterator<number>

  constructor(delaysMs: Iterable<number>) {
    this.#delaysMs = delaysMs
    this.#iterator = delaysMs[Symbol.iterator]()
  }

  next(): number | undefined {
    const { done, value } = this.#iterator.next()
    return done ? undefined : value
  }

  /** Starts the iterable again; a generator object, which can be read only once, has no more delays then. */
  reset(): void {
    this.#iterator = this.#delaysMs[Symbol.iterator]()
  }
}
