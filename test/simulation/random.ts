/** Reproducible random numbers: all randomness of a simulation comes from one seed. */

export class Random {
  readonly #seed: string
  #state: number

  constructor(seed: string) {
    this.#seed = seed
    this.#state = digest(seed)
  }

  /** Another stream of the same seed, independent of this one. */
  fork(label: string): Random {
    return new Random(`${this.#seed}/${label}`)
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number below the limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }
}

/** A number from 0 to 1 that depends only on the given words, so that it is the same after a restart and in any order of calls. */
export function fate(...words: readonly unknown[]): number {
  return new Random(words.join('\u0000')).next()
}

function digest(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}
