/** The last durations of something, for percentiles. Pure. */

export class Durations {
  readonly #limit: number
  readonly #values: number[] = []
  #next = 0
  /** The sorted values, until another one is added. */
  #sorted: readonly number[] | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  add(ms: number): void {
    this.#values[this.#next] = ms
    this.#next = (this.#next + 1) % this.#limit
    this.#sorted = undefined
  }

  /** The smallest duration that at least this share of the durations does not exceed. */
  percentile(share: number): number | undefined {
    if (this.#values.length === 0) return undefined
    this.#sorted ??= Float64Array.from(this.#values).sort() as unknown as readonly number[]
    const index = Math.max(0, Math.ceil(this.#sorted.length * share) - 1)
    return round(this.#sorted[index]!)
  }

  /** `p50Ms` and `p99Ms`, as the views have them. */
  get percentiles(): { readonly p50Ms?: number; readonly p99Ms?: number } {
    const [p50Ms, p99Ms] = [this.percentile(0.5), this.percentile(0.99)]
    return p50Ms === undefined || p99Ms === undefined ? {} : { p50Ms, p99Ms }
  }
}

/** To hundredths, so that the JSON is short. */
export function round(value: number): number {
  return Math.round(value * 100) / 100
}

const windowSeconds = 10

/** Counts events, and how many there were per second in the last ten seconds. */
export class Rate {
  count = 0
  readonly #buckets: number[] = Array(windowSeconds).fill(0)
  #second = 0

  add(nowMs: number): void {
    this.count += 1
    this.#advance(nowMs)
    this.#buckets[this.#second % windowSeconds]! += 1
  }

  perSecond(nowMs: number): number {
    this.#advance(nowMs)
    return round(this.#buckets.reduce((sum, count) => sum + count, 0) / windowSeconds)
  }

  #advance(nowMs: number): void {
    const second = Math.floor(nowMs / 1000)
    if (second - this.#second >= windowSeconds || second < this.#second) this.#buckets.fill(0)
    else for (let next = this.#second + 1; next <= second; next += 1) this.#buckets[next % windowSeconds] = 0
    this.#second = second
  }
}
