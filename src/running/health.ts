/** What is known of how the operator is: told by its parts as they come to know it, asked by whoever looks at /readyz. */
import type { KeyedQueue } from '../core/queueing/keyed-queue.ts'
import type { WatchScope, WatchState } from '../core/watching/observer.ts'
import { type Facts, judgeReadiness, type Readiness } from '../features/health/readiness.ts'
import { type Clock, monotonicOf } from '../util/clock.ts'
import { describeScope } from './serve.ts'

/** Those that are asked rather than tell. */
export interface Gauges {
  /** Undefined before anything can come. */
  readonly queue: () =>
    | Pick<KeyedQueue<unknown, unknown>, 'size' | 'waiting' | 'waitingSinceMs' | 'starvedSinceMs'>
    | undefined
  readonly lagMs: () => number
  readonly isPaused: () => boolean
  readonly isPausedIn: (namespace: string | undefined) => boolean
}

/** One stream, for as long as it is wanted. */
export interface Pulse {
  readonly changed: (state: WatchState) => void
  /** It was ended on purpose: nobody misses it. */
  readonly end: () => void
}

interface Stream {
  readonly scope: string
  readonly namespace: string | undefined
  downSinceMs: number | undefined
}

export class Health {
  phase: Facts['phase'] = 'starting'
  /** Undefined where there are none. */
  webhooks: Facts['webhooks']
  readonly #clock: Clock
  readonly #gauges: Gauges
  readonly #streams = new Set<Stream>()
  #credentials: Facts['credentials'] = 'awaited'
  #election: Facts['election']
  /** Since when anything can be taken on, where that is not since the start. */
  #leadsSinceMs = -Infinity

  constructor(clock: Clock, gauges: Gauges) {
    this.#clock = clock
    this.#gauges = gauges
  }

  set election(state: NonNullable<Facts['election']>) {
    this.#election = state
    this.#leadsSinceMs = state === 'leading' ? monotonicOf(this.#clock) : this.#leadsSinceMs
  }

  follow(scope: WatchScope): Pulse {
    const { namespace } = scope
    const stream: Stream = { scope: describeScope(scope), namespace, downSinceMs: monotonicOf(this.#clock) }
    this.#streams.add(stream)
    return {
      changed: ({ type }) => {
        stream.downSinceMs = type === 'watching' ? undefined : (stream.downSinceMs ?? monotonicOf(this.#clock))
      },
      end: () => this.#streams.delete(stream),
    }
  }

  /** After a pause of a namespace, or of everything: streams have their time to come back. */
  resumed(namespace: string | undefined): void {
    for (const stream of this.#streams) {
      if (namespace === undefined || stream.namespace === namespace) stream.downSinceMs = monotonicOf(this.#clock)
    }
  }

  loggedIn(): void {
    this.#credentials = 'accepted'
  }

  /** There are no credentials, and others are being asked for. */
  loggedOut(): void {
    if (this.#credentials !== 'refused') this.#credentials = 'awaited'
  }

  /** The API server has answered with this status; where it has not answered at all, it says nothing of us. */
  answered(status: number): void {
    this.#credentials = status === 401 ? 'refused' : 'accepted'
  }

  readiness(): Readiness {
    const queue = this.#gauges.queue()
    const sinceLeading = (ms: number | undefined) => (ms === undefined ? undefined : Math.max(ms, this.#leadsSinceMs))
    return judgeReadiness({
      nowMs: monotonicOf(this.#clock),
      phase: this.phase,
      isPaused: this.#gauges.isPaused(),
      webhooks: this.webhooks,
      election: this.#election,
      streams: Array.from(this.#streams, ({ scope, namespace, downSinceMs }) => ({
        scope,
        downSinceMs,
        isPaused: this.#gauges.isPausedIn(namespace),
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
