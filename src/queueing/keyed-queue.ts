/**
 * Events wait here: one backlog per key, at most one worker per backlog, so many workers at once. Fed by the streams and the
 * alarms; the work is objects/worker.ts. Knows keys and events, nothing of Kubernetes. Which key is next is for fair-scheduling.ts to say.
 */
import { FairScheduler, type Priority, type Slot, type SlotLimits } from './fair-scheduling.ts'

/** Gets everything that waits for its key, oldest first. Must not reject: it turns its failures into values. */
export type QueueWork<K, E> = (key: K, events: readonly E[]) => Promise<void>

export interface KeyedQueueOptions<K, E> {
  /** How many keys are worked on at once; asked anew each time. */
  readonly limit: () => number
  /** How many of them beside that, because their work takes long. Default: as many as there are. */
  readonly slowLimit?: () => number
  /**
   * Keys of one group take turns with those of other groups, and a quarter of the workers is kept for groups that have less than
   * their share. Asked when a key begins to wait. Default: all are of one group, which can have all workers.
   */
  readonly groupOf?: (key: K) => string
  /** Whether an event makes the last one that waits for the same key superfluous. */
  readonly supersedes?: (next: E, waiting: E) => boolean
  /** How many events of one key may wait. Beyond it the oldest is dropped that `isDispensable`. */
  readonly capacity?: number
  readonly isDispensable?: (event: E) => boolean
  /** Milliseconds from an arbitrary moment, for `waitingSinceMs`. */
  readonly now?: () => number
}

const reservedPart = 0.25

interface QueueEntry<K, E> {
  readonly turn: Slot<K>
  readonly events: E[]
}

export class KeyedQueue<K, E> {
  /** A key is here from its first event until its worker has found nothing more; never with a worker gone. */
  readonly #entries = new Map<K, QueueEntry<K, E>>()
  readonly #turns = new FairScheduler<K>()
  readonly #work: QueueWork<K, E>
  readonly #options: KeyedQueueOptions<K, E>
  #onIdle: Array<() => void> = []
  #isClosed = false

  constructor(work: QueueWork<K, E>, options: KeyedQueueOptions<K, E>) {
    this.#work = work
    this.#options = options
  }

  /** Keys that wait or are worked on. */
  get size(): number {
    return this.#entries.size
  }

  /** Keys that no worker has taken on yet. */
  get waiting(): number {
    return this.#turns.waiting
  }

  /** Since when the first of them has waited. */
  get waitingSinceMs(): number | undefined {
    return this.#turns.waitingSinceMs
  }

  /** Since when one of them has waited for other groups; where all keys are of one group, for any reason. */
  get starvedSinceMs(): number | undefined {
    return this.#options.groupOf === undefined ? this.waitingSinceMs : this.#turns.starvedSinceMs
  }

  /** Events of one key are worked on in the order they were put; keys do not wait for each other. */
  put(key: K, event: E, urgency: Priority = 'now'): void {
    if (this.#isClosed) return
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      this.#append(entry.events, event)
      if (urgency === 'now') this.#turns.promote(entry.turn)
      return
    }
    const { now, groupOf } = this.#options
    const turn = this.#turns.wait(key, groupOf?.(key) ?? '', { urgency, nowMs: now?.() ?? 0 })
    this.#entries.set(key, { turn, events: [event] })
    this.#hire()
  }

  /** The limit may have been raised: whoever can begin now, begins. */
  recheckLimit(): void {
    this.#hire()
  }

  /** Whether something came for this key while it is being worked on. */
  hasNews(key: K): boolean {
    return (this.#entries.get(key)?.events.length ?? 0) > 0
  }

  /**
   * The work on this key takes long: another key may be taken on in its place. Returns false where there are too many of these, or
   * nothing works on the key.
   */
  excuse(key: K): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined || !this.#turns.slowDown(entry.turn, this.#limits)) return false
    this.#hire()
    return true
  }

  /** Drops such events that wait, of all keys or of some; what is being worked on goes on. */
  discard(isDispensable: (event: E) => boolean, isAmong: (key: K) => boolean = () => true): void {
    for (const [key, { turn, events }] of this.#entries) {
      if (!isAmong(key)) continue
      const kept = events.filter((event) => !isDispensable(event))
      events.length = 0
      for (const event of kept) events.push(event)
      // Where a worker is on the key, it will find that there is nothing more.
      if (kept.length === 0 && turn.state === 'waiting') this.#forget(turn)
    }
    this.#settle()
  }

  /** What waits for this key is of no interest any more; what is being worked on goes on. */
  drop(key: K): void {
    const turn = this.#entries.get(key)?.turn
    if (turn?.state === 'waiting') this.#forget(turn)
    this.#settle()
  }

  /** Nothing more is taken on; what waits is dropped, what is being worked on goes on. */
  close(): void {
    this.#isClosed = true
    for (const turn of this.#turns.turns()) this.#forget(turn)
    for (const { events } of this.#entries.values()) events.length = 0
    this.#settle()
  }

  /** Resolves when nothing waits and nobody works. */
  idle(): Promise<void> {
    if (this.#entries.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onIdle.push(resolve))
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

  #hire(): void {
    for (let turn = this.#turns.next(this.#limits); turn !== undefined; turn = this.#turns.next(this.#limits)) {
      void this.#drain(turn)
    }
  }

  async #drain(turn: Slot<K>): Promise<void> {
    const events = this.#entries.get(turn.key)?.events ?? []
    while (events.length > 0) await this.#work(turn.key, events.splice(0))
    // In the same tick as the last look at the events: one put later starts a new worker.
    this.#forget(turn)
    this.#hire()
    this.#settle()
  }

  #forget(turn: Slot<K>): void {
    this.#turns.leave(turn)
    this.#entries.delete(turn.key)
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
