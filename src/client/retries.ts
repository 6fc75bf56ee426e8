/** Decides for session.ts which failed requests are retried, and after which delay. Sends nothing and does not sleep. */
import { addedJitter, LimitedBackoff } from '../util/async/backoff.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import { ApiError } from './api-error.ts'
import type { ConnectionError } from './connection-error.ts'
import type { ApiCall } from './session.ts'

type FailedAttempt = ApiError | ConnectionError

/**
 * Whether a failed request may be sent again. If the response to a POST is lost, the object may exist: a second POST creates another one
 * (`generateName`) or fails with AlreadyExists. So a POST is retried only if the server did not execute it: no connection, 429, 503.
 * Other verbs can be repeated safely: reads, deletions, patches, and updates with a `resourceVersion`.
 */
export function isWorthRetrying({ method }: Pick<ApiCall, 'method'>, failure: FailedAttempt): boolean {
  if (failure instanceof ApiError) {
    if (failure.status === 429 || failure.status === 503) return true
    return failure.status >= 500 && method !== 'POST'
  }
  // A retry does not change the server's certificate or protocol.
  if (failure.problem === 'certificate' || failure.problem === 'protocol') return false
  // A retry gets the same response, again too large.
  if (failure.problem === 'too-large') return false
  return method !== 'POST' || !failure.mayHaveArrived
}

/** The largest share of a delay that is added by chance. The delay itself is never shortened: `Retry-After` is a minimum. */
const jitterShare = 0.1

export interface RetryPolicy {
  readonly errorBackoffs: Duration | Iterable<Duration>
  readonly enforceRetryAfter: boolean
}

export interface RetryDelays {
  /** The delay before the next attempt in milliseconds; undefined if there is no further attempt. */
  next(failure: FailedAttempt): number | undefined
}

/** The delays of one request: one retry per backoff. `Retry-After` of the server extends or (`enforceRetryAfter`) replaces a backoff. */
export function retryDelays({ errorBackoffs, enforceRetryAfter }: RetryPolicy, random: () => number): RetryDelays {
  const backoffs = new LimitedBackoff(toDelaysMs(errorBackoffs))
  const jitter = addedJitter(jitterShare, random)
  return {
    next(failure) {
      const backoffMs = backoffs.next()
      if (backoffMs === undefined) return undefined
      const retryAfterMs = failure instanceof ApiError ? failure.retryAfterMs : undefined
      const delayMs =
        retryAfterMs === undefined ? backoffMs : enforceRetryAfter ? retryAfterMs : Math.max(retryAfterMs, backoffMs)
      return jitter(delayMs)
    },
  }
}

/** A single duration is one retry; a string is a duration, although it could be iterated. */
function* toDelaysMs(backoffs: Duration | Iterable<Duration>): Iterable<number> {
  const durations = typeof backoffs === 'number' || typeof backoffs === 'string' ? [backoffs] : backoffs
  for (const duration of durations) yield toMs(duration, 'networking.errorBackoffs')
}
