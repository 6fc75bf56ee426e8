/**
 * Keeps the answers of the API server to reviews for a while, in limited number, and asks equal questions once. Used by access-reviews.ts. Failures
 * are not kept.
 */
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { LruMap } from '../util/lru-map.ts'

export interface AnswerCacheOptions<V> {
  readonly clock: Clock
  readonly isPositive: (answer: V) => boolean
  readonly positiveMs: number
  readonly negativeMs: number
  /** Of positive answers, and of negative ones. They are kept apart: a client with many wrong tokens evicts no right one. */
  readonly maxAnswers: number
  /** The number of questions that may be asked at the same time. */
  readonly maxRunning: number
  /** Throws the error of a question that is refused because of `maxRunning`. */
  readonly onBusy: () => never
}

interface KeptAnswer<V> {
  readonly value: V
  readonly untilMs: number
}

export class AnswerCache<V> {
  readonly #options: AnswerCacheOptions<V>
  readonly #positive: LruMap<string, KeptAnswer<V>>
  readonly #negative: LruMap<string, KeptAnswer<V>>
  readonly #running = new Map<string, Promise<V>>()

  constructor(options: AnswerCacheOptions<V>) {
    this.#options = options
    this.#positive = new LruMap(options.maxAnswers)
    this.#negative = new LruMap(options.maxAnswers)
  }

  /** `key` must not contain a secret: it is kept in memory. */
  async get(key: string, ask: () => Promise<V>): Promise<V> {
    const { clock, maxRunning, onBusy } = this.#options
    const kept = this.#positive.get(key) ?? this.#negative.get(key)
    if (kept !== undefined && monotonicNow(clock) < kept.untilMs) return kept.value
    const running = this.#running.get(key)
    if (running !== undefined) return running
    if (this.#running.size >= maxRunning) onBusy()
    const question = this.#ask(key, ask)
    this.#running.set(key, question)
    return question
  }

  async #ask(key: string, ask: () => Promise<V>): Promise<V> {
    const { clock, isPositive, positiveMs, negativeMs } = this.#options
    try {
      const value = await ask()
      const [kept, other] = isPositive(value) ? [this.#positive, this.#negative] : [this.#negative, this.#positive]
      kept.set(key, { value, untilMs: monotonicNow(clock) + (isPositive(value) ? positiveMs : negativeMs) })
      other.delete(key)
      return value
    } finally {
      this.#running.delete(key)
    }
  }
}
