/**
 * A work queue: holds the events of each key, with at most one worker per key and a limit of workers in total. Watch streams and
 * timers put events; objects/worker.ts does the work. Knows keys and events, but nothing of Kubernetes. The order of keys is
 * decided by fair-scheduling.ts.
 */
import { FairScheduler, type Priority, type Slot, type SlotLimits } from './fair-scheduling.ts'

/** How long and with which priority the events of a key have waited. */
export interface QueueWait {
  /** When the first of the events arrived. */
  readonly sinceMs: number
  /** The priority of the first of the events. */
  readonly priority: Priority
}

/** Processes all waiting events of a key, oldest first. Must not reject: failures are handled inside. */
export type QueueWork<K, E> = (key: K, events: readonly E[], wait: QueueWait) => Promise<void>

export interface KeyedQueueOptions<K, E> {
  /** The maximum number of keys processed at the same time. Called each time, so that it can change. */
  readonly limit: () => number
  /** The maximum number of slow keys processed in addition. Default: unlimited. */
  readonly slowLimit?: () => number
  /**
   * The group of a key, determined when the key begins to wait. Groups take turns, and a quarter of the workers is reserved for
   * groups with less than their fair share. Default: one group, which can have all workers.
   */
  readonly groupOf?: (key: K) => string
  /** Whether an event replaces the last waiting event of the same key. */
  readonly supersedes?: (next: E, waiting: E) => boolean
  /**
   * The maximum number of waiting events of one key. Beyond it, the oldest event that `isDispensable` is dropped. Default:
   * unlimited.
   */
  readonly capacity?: number
  readonly isDispensable?: (event: E) => boolean
  /** The current time in milliseconds from an arbitrary start, for `waitingSinceMs`. */
  readonly now?: () => number
  /** Called when the first event of a key begins to wait. Each call is followed by a call of the work, or of `onDrop`. */
  readonly onWait?: (key: K, event: E, priority: Priority) => void
  /** Called when all waiting events of a key are dropped. The priority is that of `onWait`. */
  readonly onDrop?: (key: K, priority: Priority) => void
}

/** The share of workers that is reserved for groups with less than their fair share. */
const reservedPart = 0.25

interface QueueEntry<K, E> {
  readonly slot: Slot<K>
  readonly events: E[]
  /** Of the waiting events; of the last ones if none waits. */
  wait: QueueWait
}

export class KeyedQueue<K, E> {
  /** A key has an entry from its first event until its worker finds no more events. An entry always waits or has a worker. */
  readonly #entries = new Map<K, QueueEntry<K, E>>()
  readonly #scheduler = new FairScheduler<K>()
  readonly #work: QueueWork<K, E>
  readonly #options: KeyedQueueOptions<K, E>
  #onIdle: Array<() => void> = []
  #isClosed = false

  constructor(work: QueueWork<K, E>, options: KeyedQueueOptions<K, E>) {
    this.#work = work
    this.#options = options
  }

  /** The number of keys that wait or are processed. */
  get size(): number {
    return this.#entries.size
  }

  /** The number of keys that wait for a worker. */
  get waiting(): number {
    return this.#scheduler.waiting
  }

  /** The start time of the longest waiting key. */
  get waitingSinceMs(): number | undefined {
    return this.#scheduler.waitingSinceMs
  }

  /** The start time of the longest waiting key that is delayed by other groups. With a single group: of any waiting key. */
  get starvedSinceMs(): number | undefined {
    return this.#options.groupOf === undefined ? this.waitingSinceMs : this.#scheduler.starvedSinceMs
  }

  /** Adds an event. Events of one key are processed in order; keys do not wait for each other. */
  put(key: K, event: E, priority: Priority = 'now'): void {
    if (this.#isClosed) return
    const entry = this.#entries.get(key)
    const { now, groupOf, onWait } = this.#options
    if (entry !== undefined) {
      if (entry.events.length === 0) {
        entry.wait = { sinceMs: now?.() ?? 0, priority }
        onWait?.(key, event, priority)
      }
      this.#append(entry.events, event)
      if (priority === 'now') this.#scheduler.promote(entry.slot)
      return
    }
    const sinceMs = now?.() ?? 0
    const slot = this.#scheduler.wait(key, groupOf?.(key) ?? '', { priority, nowMs: sinceMs })
    this.#entries.set(key, { slot, events: [event], wait: { sinceMs, priority } })
    onWait?.(key, event, priority)
    this.#startWorkers()
  }

  /** Starts as many workers as the limit allows. Called when the limit may have been raised. */
  recheckLimit(): void {
    this.#startWorkers()
  }

  /** Whether new events have arrived for a key while it is processed. */
  hasNewEvents(key: K): boolean {
    return (this.#entries.get(key)?.events.length ?? 0) > 0
  }

  /**
   * Marks the work on this key as slow, so that another key can be processed in its place. Returns false if there are too many
   * slow keys, or if the key has no worker.
   */
  markSlow(key: K): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined || !this.#scheduler.markSlow(entry.slot, this.#limits)) return false
    this.#startWorkers()
    return true
  }

  /** Drops the waiting events that are dispensable, of all keys or of the selected ones. Work in progress continues. */
  discard(isDispensable: (event: E) => boolean, isAmong: (key: K) => boolean = () => true): void {
    for (const [key, entry] of this.#entries) {
      if (!isAmong(key)) continue
      const { slot, events } = entry
      const kept = events.filter((event) => !isDispensable(event))
      if (kept.length === 0) this.#dropEvents(entry)
      events.length = 0
      for (const event of kept) events.push(event)
      // A key with a worker keeps its entry: the worker removes it when it finds no more events.
      if (kept.length === 0 && slot.state === 'waiting') this.#forget(slot)
    }
    this.#settle()
  }

  /** Drops a waiting key with its events. Work in progress continues. */
  drop(key: K): void {
    const entry = this.#entries.get(key)
    if (entry?.slot.state === 'waiting') {
      this.#dropEvents(entry)
      this.#forget(entry.slot)
    }
    this.#settle()
  }

  /** Drops all waiting events and ignores new ones. Work in progress continues. */
  close(): void {
    this.#isClosed = true
    for (const entry of this.#entries.values()) this.#dropEvents(entry)
    for (const slot of this.#scheduler.waitingSlots()) this.#forget(slot)
    this.#settle()
  }

  /** Resolves when no key waits and no worker runs. */
  idle(): Promise<void> {
    if (this.#entries.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onIdle.push(resolve))
  }

  #dropEvents({ slot, events, wait }: QueueEntry<K, E>): void {
    if (events.length === 0) return
    events.length = 0
    this.#options.onDrop?.(slot.key, wait.priority)
  }

  #append(events: E[], event: E): void {
    const { capacity = Infinity, isDispensable = () => false, supersedes = () => false } = this.#options
    const last = events.length - 1
    if (last >= 0 && supersedes(event, events[last]!)) {
      events[last] = event
      return
    }
    events.push(event)
    if (events.length <= capacity) return
    const index = events.findIndex(isDispensable)
    if (index !== -1) events.splice(index, 1)
  }

  #startWorkers(): void {
    for (let slot = this.#scheduler.next(this.#limits); slot !== undefined; slot = this.#scheduler.next(this.#limits)) {
      void this.#drain(slot)
    }
  }

  async #drain(slot: Slot<K>): Promise<void> {
    const entry = this.#entries.get(slot.key)
    while (entry !== undefined && entry.events.length > 0)
      await this.#work(slot.key, entry.events.splice(0), entry.wait)
    // The entry is removed in the same tick as the last check for events, so that a later event starts a new worker.
    this.#forget(slot)
    this.#startWorkers()
    this.#settle()
  }

  #forget(slot: Slot<K>): void {
    this.#scheduler.leave(slot)
    this.#entries.delete(slot.key)
  }

  get #limits(): SlotLimits {
    const { limit, slowLimit, groupOf } = this.#options
    const workers = limit()
    const reserved = groupOf === undefined ? 0 : Math.floor(workers * reservedPart)
    return { workers, reserved, slowWorkers: slowLimit?.() ?? Infinity }
  }

  #settle(): void {
    if (this.#entries.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
  }
}
