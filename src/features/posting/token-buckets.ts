/**
 * How many requests an object may cost: so many at once, then one every so often. The numbers are those of the spam
 * filter of client-go, which Kubernetes' own controllers live with.
 */
import { RecentMap } from '../../util/recent-map.ts'

const burst = 25
const refillMs = 5 * 60_000
const keptBuckets = 4096

interface Bucket {
  tokens: number
  atMs: number
}

export class TokenBuckets {
  readonly #buckets = new RecentMap<string, Bucket>(keptBuckets)

  /** False where there is none left. */
  take(key: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs }
    // A clock that was set back must not take tokens away.
    const passedMs = Math.max(0, nowMs - bucket.atMs)
    bucket.tokens = Math.min(burst, bucket.tokens + passedMs / refillMs)
    bucket.atMs = nowMs
    this.#buckets.set(key, bucket)
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }
}
