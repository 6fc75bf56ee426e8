/** Deletes events an hour after they were last written, by the clock of the server. One timer waits for the oldest of them. */
import type { KubeObject } from '../../kube/objects.ts'
import type { Parts } from '../call.ts'
import { type Change, parseStored, type Stored } from '../storage/stored.ts'
import { FollowUp } from './follow-up.ts'

const collection = 'events'
const lifetimeMs = 3_600_000

/** Of a burst of events not each gets a timer of its own; and an event that the store refuses to delete is tried again later. */
const minDelayMs = 1000

export class EventExpirer {
  readonly #parts: Parts

  /** What was written, oldest first. An event that was written again, or is gone, has a later version or none. */
  #written: Array<{ readonly key: string; readonly version: number; readonly time: number }> = []
  readonly #sweep: FollowUp<'sweep'>

  /** One sleep at a time, until the oldest entry expires. */
  #isTimerSet = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#sweep = new FollowUp(parts, 'event-expiry-controller', () => this.#expire())
    parts.store.subscribe(collection, (change) => this.#hear(change))
  }

  #hear({ type, current, version }: Change): void {
    if (type === 'DELETED') return
    const now = this.#parts.clock.now()
    const isNews = version > 0
    this.#written.push({ key: current.key, version: current.version, time: isNews ? now : lastTimeOf(current, now) })
    // Events of a data directory are announced in any order. A time of day that was set forward does not wake the timer.
    if (!isNews || this.#written[0]!.time + lifetimeMs <= now) this.#sweep.add('sweep')
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
      // What the store has refused has its turn the next time.
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

/** When an event of an earlier life of the server was written, as far as it says so itself. */
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
