/**
 * What to do after a stream or a list has ended, well or badly: when to try again, from where, and by which means.
 * Remembers how often what went wrong; asked by reflector.ts after each attempt. Makes no requests and does not wait.
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
  /** `resume` from a version; the objects that are there by a `stream` that goes on with the changes, or by a `list`. */
  readonly means: 'resume' | 'stream' | 'list'
  /** The version from which changes are counted as progress; undefined before the list is complete. */
  from: string | undefined
  /** Whether the server has begun to answer. */
  hasBegun: boolean
  /** How long the answer took, since it began. */
  lastedMs: number
  /** How it ended: `closed` in good order. */
  end: 'listed' | 'closed' | 'silent' | { readonly error: unknown }
}

export interface Remedy {
  readonly delayMs: number
  /** What was wrong; absent where nothing was. */
  readonly error?: unknown
}

/** A stream that has lasted so long was no failure. */
const longEnoughMs = 10_000

/** So often a server may be behind, or fail without a known reason, before another way is tried. */
const patience = 5
const shortPatience = 3

/** The largest delay between two attempts, unless `watching.reconnectBackoff` is larger. */
const maxDelayMs = 30_000

export class WatchRecovery {
  readonly #backoff: Backoff
  /** `watching.reconnectBackoff` as of the last attempt. */
  #firstDelayMs = 0
  readonly #mirror: ObjectStore

  /** Whether the server is worth asking for a stream of what is there. Once it is not, it never is again. */
  canStream = true

  /** Whether a new list is asked not to be older than what was seen; not where the server cannot be that new. */
  isGuarded = true

  #lagging = 0
  #failures = 0
  #malformed = 0
  #unfinished = 0
  #expiredLists = 0
  #hasExpired = false
  /** The server was away, and has not shown since that it is what it was: it may have been restored from a backup. */
  #isDoubtful = false

  constructor(mirror: ObjectStore, random: () => number) {
    this.#mirror = mirror
    this.#backoff = new Backoff(
      exponential({ firstMs: () => this.#firstDelayMs, maxMs: maxDelayMs, jitter: equalJitter(random) }),
    )
  }

  get attempts(): number {
    return this.#backoff.attempts
  }

  /** A line that is malformed each time it is asked for is the only one that is lost. */
  get skipsMalformed(): boolean {
    return this.#malformed >= shortPatience
  }

  /** Where pages expire before the last one is read, all at once is the way. */
  get needsWholeList(): boolean {
    return this.#expiredLists >= shortPatience
  }

  /** A list is complete. */
  listed(): void {
    this.isGuarded = true
    this.#isDoubtful = false
    this.#lagging = 0
    this.#unfinished = 0
    this.#expiredLists = 0
  }

  judge(attempt: WatchAttempt, firstDelayMs: number): Remedy {
    this.#firstDelayMs = firstDelayMs
    this.#countProgress(attempt)
    const { end } = attempt
    if (end === 'listed') return { delayMs: 0 }
    if (end === 'closed') return this.#afterClosing(attempt)
    const error = end === 'silent' ? silentWatch() : end.error
    if (this.#mirror.isListing) {
      if (attempt.means === 'stream' && this.#lacksStreaming(attempt, error)) {
        // An older server that says so is as good as any.
        return isRefusal(error) ? { delayMs: 0 } : { delayMs: 0, error }
      }
      this.#afterFailedList(attempt, error)
    } else {
      this.#afterFailedWatch(attempt, error)
    }
    return { delayMs: Math.max(this.#backoff.next(), retryAfterOf(error)), error }
  }

  /** Only what comes after a list is progress: a server whose lists expire at once must not be listed without end. */
  #countProgress({ from, lastedMs }: WatchAttempt): void {
    const { version } = this.#mirror
    const hasProgressed = from !== undefined && version !== undefined && version !== from
    if (hasProgressed || lastedMs >= longEnoughMs) this.#backoff.reset()
    if (!hasProgressed) return
    this.#lagging = 0
    this.#failures = 0
    this.#malformed = 0
    this.#hasExpired = false
    this.#isDoubtful = false
  }

  #afterClosing(attempt: WatchAttempt): Remedy {
    if (this.#mirror.isListing) this.#countUnfinished(attempt)
    if (attempt.lastedMs >= longEnoughMs) return { delayMs: 0 }
    const delayMs = this.#backoff.next()
    return this.attempts > shortPatience ? { delayMs, error: closedAtOnce() } : { delayMs }
  }

  #lacksStreaming({ hasBegun }: WatchAttempt, error: unknown): boolean {
    // Servers before 1.27, or with the feature off, refuse the query; proxies and others may accept it and not know it.
    const isLacking = isRefusal(error) || isProblem(error, 'endless') || (hasBegun && isProblem(error, 'silent'))
    if (isLacking) this.canStream = false
    return isLacking
  }

  #afterFailedList(attempt: WatchAttempt, error: unknown): void {
    if (isProblem(error, 'malformed')) this.#malformed += 1
    else this.#countUnfinished(attempt)
    if (isExpired(error)) this.#expiredLists += 1
    if (isTooLargeVersion(error)) this.#lagging += 1
    if (isExpired(error) || isRefusal(error) || this.#lagging > patience) this.isGuarded = false
  }

  #countUnfinished({ means, hasBegun }: WatchAttempt): void {
    if (means !== 'stream' || !hasBegun) return
    this.#unfinished += 1
    if (this.#unfinished >= shortPatience) this.canStream = false
  }

  #afterFailedWatch({ hasBegun }: WatchAttempt, error: unknown): void {
    if (error instanceof ConnectionError) {
      this.#isDoubtful = true
    } else if (isProblem(error, 'malformed')) {
      this.#malformed += 1
    } else if (isProblem(error, 'silent')) {
      // Servers take watches from versions that they have not come to, and are silent: not even bookmarks come then.
      if (hasBegun && this.#isDoubtful) this.#mirror.expire()
      this.#isDoubtful = false
    } else if (isTooLargeVersion(error) && !isProblem(error, 'lagging')) {
      this.#lagging += 1
      if (this.#lagging <= patience) return
      this.isGuarded = false
      this.#mirror.expire()
    } else if (isExpired(error) || isRefusal(error) || isProblem(error, 'lagging')) {
      if (isExpired(error)) this.#welcomeBack()
      this.#mirror.expire()
    } else if (hasBegun && error instanceof ApiError) {
      this.#failures += 1
      if (this.#failures >= shortPatience) this.#mirror.expire()
    }
  }

  /** A server that was away and has forgotten our version is back: the pauses of its absence are over, but only once. */
  #welcomeBack(): void {
    if (!this.#hasExpired) this.#backoff.reset()
    this.#hasExpired = true
  }
}
