/**
 * Limits the number of event requests per object with a token bucket: a burst of 25, then one every 5 minutes. The spam filter in client-go
 * has the same numbers.
 */
import { LruMap } from '../util/lru-map.ts'

const burst = 25
const refillMs = 5 * 60_000
const maxBuckets = 4096

interface TokenBucket {
  tokens: number
  atMs: number
}

export class TokenBuckets {
  readonly #buckets = new LruMap<string, TokenBucket>(maxBuckets)

  /** Takes a token. Returns false if there is none left. */
  take(key: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs }
    // A clock that was set back must not remove tokens.
    const passedMs = Math.max(0, nowMs - bucket.atMs)
    bucket.tokens = Math.min(burst, bucket.tokens + passedMs / refillMs)
    bucket.atMs = nowMs
    this.#buckets.set(key, bucket)
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }
}
