/**
 * Decides what a reflector does after a stream or list has ended: the delay before the next attempt, and whether it resumes,
 * streams or lists. Counts earlier failures. Called by reflector.ts after each attempt; sends no requests and does not wait.
 */
import { ApiError } from '../client/api-error.ts'
import { ConnectionError } from '../client/connection-error.ts'
import { Backoff, equalJitter, exponential } from '../util/async/backoff.ts'
import type { ObjectStore } from './store.ts'
import {
  closedAtOnce,
  isExpired,
  isProblem,
  isRefusal,
  isTooLargeVersion,
  retryAfterOf,
  silentWatch,
} from './watch-errors.ts'

export interface WatchAttempt {
  /** `resume`: a watch from a known version. `stream`: a watch that sends the existing objects first. `list`: a paged list. */
  readonly method: 'resume' | 'stream' | 'list'
  /** Versions after this one count as progress; undefined before the list is complete. */
  from: string | undefined
  /** Whether the server has begun to respond. */
  hasBegun: boolean
  /** The duration of the response, from its beginning. */
  lastedMs: number
  /** How the attempt ended. `closed`: the server closed the stream normally. */
  end: 'listed' | 'closed' | 'silent' | { readonly error: unknown }
}

export interface RetryDecision {
  readonly delayMs: number
  /** The failure to report; absent after a normal end. */
  readonly error?: unknown
}

/** A stream that lasted this long does not count as a failure. */
const minStreamMs = 10_000

/** The number of times that a server may lag behind before the reflector lists without a minimum version. */
const maxLagging = 5
/** The number of repeated failures of the other types before another method is tried. */
const maxRepeats = 3

/** The maximum delay between two attempts, unless `watching.reconnectBackoff` is larger. */
const maxDelayMs = 30_000

export class WatchRetryPolicy {
  readonly #backoff: Backoff
  /** `watching.reconnectBackoff` at the last attempt. */
  #firstDelayMs = 0
  readonly #store: ObjectStore

  /** Whether to request the initial objects as a stream. Once false, it stays false. */
  canStream = true

  /** Whether a new list must not be older than the versions seen. False if the server cannot provide such a list. */
  isGuarded = true

  #lagging = 0
  #failures = 0
  #malformed = 0
  #unfinished = 0
  #expiredLists = 0
  #hasExpired = false
  /** Whether the connection was lost and the server has shown no progress since. The server may have been restored from a backup. */
  #mayBeRestored = false

  constructor(store: ObjectStore, random: () => number) {
    this.#store = store
    this.#backoff = new Backoff(
      exponential({ firstMs: () => this.#firstDelayMs, maxMs: maxDelayMs, jitter: equalJitter(random) }),
    )
  }

  get attempts(): number {
    return this.#backoff.attempts
  }

  /** Whether malformed lines are skipped. A line that is malformed in every attempt is then the only one that is lost. */
  get skipsMalformed(): boolean {
    return this.#malformed >= maxRepeats
  }

  /** Whether to list without pages, because the continue tokens repeatedly expired before the last page. */
  get needsWholeList(): boolean {
    return this.#expiredLists >= maxRepeats
  }

  /** Called when a list is complete. */
  listed(): void {
    this.isGuarded = true
    this.#mayBeRestored = false
    this.#lagging = 0
    this.#unfinished = 0
    this.#expiredLists = 0
  }

  decide(attempt: WatchAttempt, firstDelayMs: number): RetryDecision {
    this.#firstDelayMs = firstDelayMs
    this.#countProgress(attempt)
    const { end } = attempt
    if (end === 'listed') return { delayMs: 0 }
    if (end === 'closed') return this.#afterClosed(attempt)
    const error = end === 'silent' ? silentWatch() : end.error
    if (this.#store.isListing) {
      if (attempt.method === 'stream' && this.#lacksStreaming(attempt, error)) {
        // A rejection by an older server is a normal response and is not reported as an error.
        return isRefusal(error) ? { delayMs: 0 } : { delayMs: 0, error }
      }
      this.#afterFailedList(attempt, error)
    } else {
      this.#afterFailedWatch(attempt, error)
    }
    return { delayMs: Math.max(this.#backoff.next(), retryAfterOf(error)), error }
  }

  /**
   * Only changes after a list are progress: otherwise a server whose lists expire at once would be listed in an endless loop
   * without delay.
   */
  #countProgress({ from, lastedMs }: WatchAttempt): void {
    const { version } = this.#store
    const hasProgressed = from !== undefined && version !== undefined && version !== from
    if (hasProgressed || lastedMs >= minStreamMs) this.#backoff.reset()
    if (!hasProgressed) return
    this.#lagging = 0
    this.#failures = 0
    this.#malformed = 0
    this.#hasExpired = false
    this.#mayBeRestored = false
  }

  #afterClosed(attempt: WatchAttempt): RetryDecision {
    if (this.#store.isListing) this.#countUnfinished(attempt)
    if (attempt.lastedMs >= minStreamMs) return { delayMs: 0 }
    const delayMs = this.#backoff.next()
    return this.attempts > maxRepeats ? { delayMs, error: closedAtOnce() } : { delayMs }
  }

  #lacksStreaming({ hasBegun }: WatchAttempt, error: unknown): boolean {
    // Servers before 1.27, or with the feature switched off, reject the query. Proxies and other servers may accept and ignore
    // it.
    const isLacking = isRefusal(error) || isProblem(error, 'endless') || (hasBegun && isProblem(error, 'silent'))
    if (isLacking) this.canStream = false
    return isLacking
  }

  #afterFailedList(attempt: WatchAttempt, error: unknown): void {
    if (isProblem(error, 'malformed')) this.#malformed += 1
    else this.#countUnfinished(attempt)
    if (isExpired(error)) this.#expiredLists += 1
    if (isTooLargeVersion(error)) this.#lagging += 1
    if (isExpired(error) || isRefusal(error) || this.#lagging > maxLagging) this.isGuarded = false
  }

  #countUnfinished({ method, hasBegun }: WatchAttempt): void {
    if (method !== 'stream' || !hasBegun) return
    this.#unfinished += 1
    if (this.#unfinished >= maxRepeats) this.canStream = false
  }

  #afterFailedWatch({ hasBegun }: WatchAttempt, error: unknown): void {
    if (error instanceof ConnectionError) {
      this.#mayBeRestored = true
    } else if (isProblem(error, 'malformed')) {
      this.#malformed += 1
    } else if (isProblem(error, 'silent')) {
      // A server accepts a watch from a version that it has not reached yet, and then sends nothing, not even bookmarks.
      if (hasBegun && this.#mayBeRestored) this.#store.expire()
      this.#mayBeRestored = false
    } else if (isTooLargeVersion(error) && !isProblem(error, 'lagging')) {
      this.#lagging += 1
      if (this.#lagging <= maxLagging) return
      this.isGuarded = false
      this.#store.expire()
    } else if (isExpired(error) || isRefusal(error) || isProblem(error, 'lagging')) {
      if (isExpired(error)) this.#resetAfterExpiry()
      this.#store.expire()
    } else if (hasBegun && error instanceof ApiError) {
      this.#failures += 1
      if (this.#failures >= maxRepeats) this.#store.expire()
    }
  }

  /** Resets the backoff once after the server was away and has forgotten our version: it is available again. */
  #resetAfterExpiry(): void {
    if (!this.#hasExpired) this.#backoff.reset()
    this.#hasExpired = true
  }
}
