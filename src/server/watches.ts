/** All open watches: receive changes from the store, and end when their resource changes or the server stops. */
import { setMaxListeners } from 'node:events'
import type { Clock } from '../util/async/clock.ts'
import { RecentLines } from './recent-lines.ts'
import type { ServerStore } from './storage/store.ts'
import { WatchFeed } from './watch-feed.ts'
import { type WatchLimits, type WatchPlan, WatchStream } from './watch-stream.ts'

export class Watches {
  readonly lines: RecentLines = new RecentLines()

  readonly #store: ServerStore
  readonly #clock: Clock
  readonly #limits: WatchLimits

  /** All streams that have not ended, by collection. */
  readonly #open = new Map<string, Set<WatchStream>>()

  constructor(store: ServerStore, clock: Clock, limits: WatchLimits) {
    this.#store = store
    this.#clock = clock
    this.#limits = limits
  }

  /** Must be called in the same tick in which the plan was made, so that no change is missed in between. */
  open(collection: string, plan: WatchPlan, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const stream = new WatchStream(plan, this.#limits, this.#store.version)
    const streams = this.#open.get(collection) ?? new Set()
    this.#open.set(collection, streams.add(stream))
    const listener = plan.prepare === undefined ? stream : this.#feed(stream, plan, plan.prepare)
    const unsubscribe = this.#store.subscribe(collection, (change) => listener.onChange(change))
    const gone = () => stream.cut()
    // A client may stop many watches with one signal, which is not a leak.
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

  /** Pending events are still sent; clients reconnect and find the resource in its new form. */
  endAll(collection?: string): void {
    for (const [name, streams] of this.#open) {
      if (collection === undefined || collection === name) for (const stream of streams) stream.end()
    }
  }

  get size(): number {
    return [...this.#open.values()].reduce((sum, streams) => sum + streams.size, 0)
  }
}
