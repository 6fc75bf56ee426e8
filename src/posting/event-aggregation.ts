/**
 * Reduces the number of event requests: counts the repetitions of each event, and limits the requests per object with token buckets. Used by poster.ts
 * and event-writer.ts.
 */
import type { ObjectReference } from '../kube/objects.ts'
import { LruMap } from '../util/lru-map.ts'
import type { EventContent } from './event-body.ts'

/** After this time without a repetition, the next one is a new event. The same interval as in client-go. */
const aggregationMs = 10 * 60_000
const maxAggregated = 4096

export interface AggregatedEvent {
  readonly reference: ObjectReference
  readonly objectKey: string
  readonly content: EventContent
  backoffsMs: readonly number[]
  /** The name of the Event object; undefined until it is created. */
  name: string | undefined
  /** The count in the Event object. */
  postedCount: number
  /** The number of occurrences that are not posted yet. */
  pendingCount: number
  /** When the first of these occurrences happened. */
  pendingSinceMs: number
  lastMs: number
  /** When the last request was sent; undefined before the first. */
  sentAtMs: number | undefined
  /** A request is queued or waits for its time: no other one needs to be scheduled. */
  isScheduled: boolean
}

/** The identity of an object, whose events are posted in order and share a rate limit: its uid, or else its kind and name. */
export function toObjectKey({ uid, apiVersion, kind, namespace, name }: ObjectReference): string {
  return uid ?? JSON.stringify([apiVersion, kind, namespace, name])
}

/** The recent events of all objects, by content; the least recently used are dropped. */
export class EventAggregation {
  readonly #events = new LruMap<string, AggregatedEvent>(maxAggregated)

  find(reference: ObjectReference, content: EventContent, nowMs: number): AggregatedEvent | undefined {
    const event = this.#events.get(toKey(reference, content))
    return event !== undefined && nowMs - event.lastMs <= aggregationMs ? event : undefined
  }

  add(reference: ObjectReference, content: EventContent, nowMs: number): AggregatedEvent {
    const event: AggregatedEvent = {
      reference,
      objectKey: toObjectKey(reference),
      content,
      backoffsMs: [],
      name: undefined,
      postedCount: 0,
      pendingCount: 0,
      pendingSinceMs: nowMs,
      lastMs: nowMs,
      sentAtMs: undefined,
      isScheduled: false,
    }
    this.#events.set(toKey(reference, content), event)
    return event
  }
}

function toKey(reference: ObjectReference, { type, reason, message }: EventContent): string {
  return JSON.stringify([toObjectKey(reference), type, reason, message])
}

/** The number of requests that an object can make at once. */
const burst = 25
/** The time after which an object gets one more request. */
const refillMs = 5 * 60_000
const maxBuckets = 4096

interface TokenBucket {
  tokens: number
  atMs: number
}

/**
 * Limits the number of event requests per object with a token bucket: a burst of 25, then one every 5 minutes. The spam filter in client-go has the same
 * numbers.
 */
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
