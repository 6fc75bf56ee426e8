/** Which failures may pass by themselves, and how long to wait for it. Pure but for the iterator of back-offs. */
import { type Duration, toMs } from '../util/duration.ts'
import { ApiError } from './api-error.ts'
import type { ApiCall } from './calls.ts'
import type { ConnectionError } from './connection-error.ts'

type Failure = ApiError | ConnectionError

/**
 * A POST creates: where the first one may have been served, and only its answer lost, a second one makes a second object
 * (`generateName`), or is told that the object exists although it was our own doing. So it is repeated only where the
 * server has surely not done it: no connection, or turned away at the door (429 and 503). All else is safe to repeat:
 * reads, deletions, patches to the same end, and updates that name their version.
 */
export function isWorthRetrying({ method }: Pick<ApiCall, 'method'>, failure: Failure): boolean {
  if (failure instanceof ApiError) {
    if (failure.status === 429 || failure.status === 503) return true
    return failure.status >= 500 && method !== 'POST'
  }
  // Nobody gets another certificate or speaks another protocol for being asked again.
  if (failure.problem === 'certificate' || failure.problem === 'protocol') return false
  // The same request has the same answer, which would be read in vain once more.
  if (failure.problem === 'too-large') return false
  return method !== 'POST' || !failure.mayHaveArrived
}

/** A tenth at most, and never less than asked for: many who failed together do not come back together. */
const jitter = 0.1

export interface RetryPolicy {
  readonly errorBackoffs: Duration | Iterable<Duration>
  readonly enforceRetryAfter: boolean
}

export interface RetryDelays {
  /** Before the next attempt; undefined where there is none. */
  next(failure: Failure): number | undefined
}

/** For one request: as many attempts as there are back-offs, and one. */
export function retryDelays({ errorBackoffs, enforceRetryAfter }: RetryPolicy, random: () => number): RetryDelays {
  const backoffs = toIterable(errorBackoffs)[Symbol.iterator]()
  return {
    next(failure) {
      const { done, value } = backoffs.next()
      if (done) return undefined
      const backoffMs = toMs(value, 'networking.errorBackoffs')
      const askedMs = failure instanceof ApiError ? failure.retryAfterMs : undefined
      const delayMs = askedMs === undefined ? backoffMs : enforceRetryAfter ? askedMs : Math.max(askedMs, backoffMs)
      return delayMs * (1 + jitter * random())
    },
  }
}

/** A string is a duration, although it could be iterated. */
function toIterable(backoffs: Duration | Iterable<Duration>): Iterable<Duration> {
  return typeof backoffs === 'number' || typeof backoffs === 'string' ? [backoffs] : backoffs
}
