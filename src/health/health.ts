/** Collects the facts about the operator's health from its parts, and answers requests of /readyz. The decision is in readiness.ts. */

import type { Observer } from '../observer.ts'
import type { KeyedQueue } from '../queueing/keyed-queue.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import type { Pause } from '../watching/pause.ts'
import { describeScope, type WatchScope, type WatchState } from '../watching/watch-observer.ts'
import { decideReadiness, type Readiness, type ReadinessFacts } from './readiness.ts'

type QueueGauge = Pick<KeyedQueue<unknown, unknown>, 'size' | 'waiting' | 'waitingSinceMs' | 'starvedSinceMs'>

/** Values that are read for each request of the readiness page. */
export interface HealthGauges {
  readonly lagMs: () => number
  readonly pause: Pick<Pause, 'isPaused' | 'isPausedIn'>
}

/** Reports the state of one watch stream. */
export interface StreamHealth {
  readonly changed: (state: WatchState) => void
  /** The stream was ended on purpose and no longer counts. */
  readonly end: () => void
}

interface WatchedStream {
  readonly scope: string
  readonly namespace: string | undefined
  downSinceMs: number | undefined
}

export class Health {
  phase: ReadinessFacts['phase'] = 'starting'
  /** Undefined if the operator has no webhooks. */
  webhooks: ReadinessFacts['webhooks']
  readonly #clock: Clock
  readonly #gauges: HealthGauges
  readonly #streams = new Set<WatchedStream>()
  /** Undefined before objects can come. */
  #queue: QueueGauge | undefined
  #credentials: ReadinessFacts['credentials'] = 'awaited'
  #election: ReadinessFacts['election']
  /** When this replica became the leader; without election, -Infinity. Objects cannot be processed before. */
  #leadsSinceMs = -Infinity

  constructor(clock: Clock, gauges: HealthGauges) {
    this.#clock = clock
    this.#gauges = gauges
  }

  /** Follows the leader election. */
  readonly listener: Observer = {
    leadershipChanged: ({ state }) => {
      this.#election = state === 'candidate' ? 'standing-by' : state
      this.#leadsSinceMs = state === 'leading' ? monotonicNow(this.#clock) : this.#leadsSinceMs
    },
  }

  observeQueue(queue: QueueGauge): void {
    this.#queue = queue
  }

  track(scope: WatchScope): StreamHealth {
    const { namespace } = scope
    const stream: WatchedStream = { scope: describeScope(scope), namespace, downSinceMs: monotonicNow(this.#clock) }
    this.#streams.add(stream)
    return {
      changed: ({ type }) => {
        stream.downSinceMs = type === 'watching' ? undefined : (stream.downSinceMs ?? monotonicNow(this.#clock))
      },
      end: () => this.#streams.delete(stream),
    }
  }

  /** Restarts the down time of streams after a pause of a namespace, or of the whole operator, so that they have time to reconnect. */
  resumed(namespace: string | undefined): void {
    for (const stream of this.#streams) {
      if (namespace === undefined || stream.namespace === namespace) stream.downSinceMs = monotonicNow(this.#clock)
    }
  }

  loggedIn(): void {
    this.#credentials = 'accepted'
  }

  /** The credentials were dropped, and a new login is running. */
  loggedOut(): void {
    if (this.#credentials !== 'refused') this.#credentials = 'awaited'
  }

  /** The API server has responded with this status. A failed connection says nothing about the credentials and is not reported. */
  responded(status: number): void {
    this.#credentials = status === 401 ? 'refused' : 'accepted'
  }

  readiness(): Readiness {
    const queue = this.#queue
    const sinceLeading = (ms: number | undefined) => (ms === undefined ? undefined : Math.max(ms, this.#leadsSinceMs))
    return decideReadiness({
      nowMs: monotonicNow(this.#clock),
      phase: this.phase,
      isPaused: this.#gauges.pause.isPaused,
      webhooks: this.webhooks,
      election: this.#election,
      streams: Array.from(this.#streams, ({ scope, namespace, downSinceMs }) => ({
        scope,
        downSinceMs,
        isPaused: this.#gauges.pause.isPausedIn(namespace),
      })),
      credentials: this.#credentials,
      queue: {
        objects: queue?.size ?? 0,
        waiting: queue?.waiting ?? 0,
        waitingSinceMs: sinceLeading(queue?.waitingSinceMs),
        starvedSinceMs: sinceLeading(queue?.starvedSinceMs),
      },
      lagMs: this.#gauges.lagMs(),
    })
  }
}
