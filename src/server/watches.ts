/** All open watches: fed from the store, ended when their resource changes or the server stops. */
import { setMaxListeners } from 'node:events'
import type { Clock } from '../util/clock.ts'
import { RecentLines } from './recent-lines.ts'
import type { Store } from './storage/store.ts'
import { WatchFeed } from './watch-feed.ts'
import { type WatchLimits, type WatchPlan, WatchStream } from './watch-stream.ts'

export class Watches {
  readonly lines: RecentLines = new RecentLines()

  readonly #store: Store
  readonly #clock: Clock
  readonly #limits: WatchLimits

  /** Every stream that has not ended, by the collection it watches. */
  readonly #open = new Map<string, Set<WatchStream>>()

  constructor(store: Store, clock: Clock, limits: WatchLimits) {
    this.#store = store
    this.#clock = clock
    this.#limits = limits
  }

  /** Opened in the same tick in which the plan was made: nothing can happen between the two. */
  open(collection: string, plan: WatchPlan, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const stream = new WatchStream(plan, this.#limits, this.#store.version)
    const streams = this.#open.get(collection) ?? new Set()
    this.#open.set(collection, streams.add(stream))
    const listener = plan.prepare === undefined ? stream : this.#feed(stream, plan, plan.prepare)
    const unsubscribe = this.#store.subscribe(collection, (change) => listener.hear(change))
    const gone = () => stream.cut()
    // One signal for many watches is how a client stops them all, and no leak.
    setMaxListeners(0, signal)
    signal.addEventListener('abort', gone, { once: true })
    stream.ended.addEventListener('abort', () => {
      unsubscribe()
      streams.delete(stream)
      signal.removeEventListener('abort', gone)
    })
    if (signal.aborted) stream.cut()
    stream.keepTime(this.#clock)
    return stream.bytes()
  }

  #feed(stream: WatchStream, plan: WatchPlan, prepare: NonNullable<WatchPlan['prepare']>): WatchFeed {
    const feed = new WatchFeed(stream, prepare, this.#limits.pendingChanges)
    void feed.begin(plan)
    return feed
  }

  /** What waits is still sent: clients come back and find the resource as it is now. */
  endAll(collection?: string): void {
    for (const [name, streams] of this.#open) {
      if (collection === undefined || collection === name) for (const stream of streams) stream.end()
    }
  }

  get size(): number {
    return [...this.#open.values()].reduce((sum, streams) => sum + streams.size, 0)
  }
}
