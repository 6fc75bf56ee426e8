/** What is known of how the operator is: told by its parts as they come to know it, asked by whoever looks at /readyz. */
import { ApiError, isUnauthorized } from '../client/api-error.ts'
import type { WatchState } from '../core/watching/observer.ts'
import { type Facts, judgeReadiness, type Readiness } from '../features/health/readiness.ts'
import { type Clock, monotonicOf } from '../util/clock.ts'

/** Those that are asked rather than tell. */
export interface Gauges {
  /** Undefined before anything can come. */
  readonly queue: () =>
    | { readonly size: number; readonly waiting: number; readonly waitingSinceMs: number | undefined }
    | undefined
  readonly lagMs: () => number
  readonly isPaused: () => boolean
}

/** One stream, for as long as it is wanted. */
export interface Pulse {
  readonly changed: (state: WatchState) => void
  /** It was ended on purpose: nobody misses it. */
  readonly end: () => void
}

interface Stream {
  readonly scope: string
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

  constructor(clock: Clock, gauges: Gauges) {
    this.#clock = clock
    this.#gauges = gauges
  }

  follow(scope: string): Pulse {
    const stream: Stream = { scope, downSinceMs: monotonicOf(this.#clock) }
    this.#streams.add(stream)
    return {
      changed: ({ type }) => {
        stream.downSinceMs = type === 'watching' ? undefined : (stream.downSinceMs ?? monotonicOf(this.#clock))
      },
      end: () => this.#streams.delete(stream),
    }
  }

  /** After a pause: streams have their time to come back. */
  resumed(): void {
    for (const stream of this.#streams) stream.downSinceMs = monotonicOf(this.#clock)
  }

  loggedIn(): void {
    this.#credentials = 'accepted'
  }

  /** The API server has answered, well or with this; where it has not answered at all, it says nothing of us. */
  answered(error?: unknown): void {
    if (isUnauthorized(error)) this.#credentials = 'refused'
    else if (error === undefined || error instanceof ApiError) this.#credentials = 'accepted'
  }

  readiness(): Readiness {
    const queue = this.#gauges.queue()
    return judgeReadiness({
      nowMs: monotonicOf(this.#clock),
      phase: this.phase,
      isPaused: this.#gauges.isPaused(),
      webhooks: this.webhooks,
      streams: [...this.#streams],
      credentials: this.#credentials,
      queue: { objects: queue?.size ?? 0, waiting: queue?.waiting ?? 0, waitingSinceMs: queue?.waitingSinceMs },
      lagMs: this.#gauges.lagMs(),
    })
  }
}
