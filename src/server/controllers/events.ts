/** Deletes events one hour after their last write, by the server's clock. A single timer waits for the oldest event. */
import type { KubeObject } from '../../kube/objects.ts'
import type { ServerContext } from '../call.ts'
import { parseStored, type StoreChange, type Stored } from '../storage/stored.ts'
import { MicrotaskQueue } from './microtask-queue.ts'

const collection = 'events'
const lifetimeMs = 3_600_000

/** Minimum delay of the timer: batches a burst of events, and delays the retry of an event that the store refuses to delete. */
const minDelayMs = 1000

export class EventExpirer {
  readonly #parts: ServerContext

  /** Writes of events, oldest first. An entry is stale if its event has a later version or is deleted. */
  #written: Array<{ readonly key: string; readonly version: number; readonly time: number }> = []
  readonly #sweep: MicrotaskQueue<'sweep'>

  /** True while the timer runs. There is one timer, for the oldest entry. */
  #isTimerSet = false

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#sweep = new MicrotaskQueue(parts, 'event-expiry-controller', () => this.#expire())
    parts.store.subscribe(collection, (change) => this.#handleChange(change))
  }

  #handleChange({ type, current, version }: StoreChange): void {
    if (type === 'DELETED') return
    const now = this.#parts.clock.now()
    const isNew = version > 0
    this.#written.push({ key: current.key, version: current.version, time: isNew ? now : lastTimeOf(current, now) })
    // Sweep at once: events of a data directory arrive in any order, and a clock that was set forward does not fire the timer.
    if (!isNew || this.#written[0]!.time + lifetimeMs <= now) this.#sweep.add('sweep')
    else this.#setTimer()
  }

  #expire(): void {
    this.#written.sort((one, other) => one.time - other.time)
    const limit = this.#parts.clock.now() - lifetimeMs
    let count = 0
    try {
      for (const { key, version, time } of this.#written) {
        if (time > limit) break
        const current = this.#parts.store.collection(collection).get(key)
        if (current?.version === version) this.#parts.store.remove(current)
        count += 1
      }
    } finally {
      // An entry whose deletion the store refused stays for the next sweep.
      this.#written.splice(0, count)
      this.#setTimer()
    }
  }

  #setTimer(): void {
    const oldest = this.#written[0]
    const { clock, closing } = this.#parts
    if (oldest === undefined || this.#isTimerSet || closing.aborted) return
    this.#isTimerSet = true
    const delayMs = Math.max(oldest.time + lifetimeMs - clock.now(), minDelayMs)
    clock.sleep(delayMs, closing, { isBackground: true }).then(
      () => {
        this.#isTimerSet = false
        this.#sweep.add('sweep')
      },
      () => {},
    )
  }
}

/** Last write time of an event from an earlier run of the server, as far as its own timestamps tell. */
function lastTimeOf(stored: Stored, now: number): number {
  const { metadata, ...event } = parseStored(stored) as KubeObject & EventTimes
  const times = [metadata.creationTimestamp, event.lastTimestamp, event.eventTime, event.series?.lastObservedTime]
  const known = times.map((time) => Date.parse(time ?? '')).filter((time) => time <= now)
  return Math.max(0, ...known)
}

interface EventTimes {
  readonly lastTimestamp?: string
  readonly eventTime?: string
  readonly series?: { readonly lastObservedTime?: string }
}
