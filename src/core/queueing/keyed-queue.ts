/**
 * Events wait here: one backlog per key, at most one worker per backlog, so many workers at once.
 * Fed by the streams and the alarms; the work is running/process.ts. Knows keys and events, nothing of Kubernetes.
 */

/** Gets everything that waits for its key, oldest first. Must not reject: it turns its failures into values. */
export type Work<K, E> = (key: K, events: readonly E[]) => Promise<void>

/** How urgent an event is: what happens now comes before what was there when we started. */
export type Urgency = 'now' | 'backlog'

export interface KeyedQueueOptions<E> {
  /** How many keys are worked on at once; asked anew each time. */
  readonly limit: () => number
  /** Whether an event makes the last one that waits for the same key superfluous. */
  readonly supersedes?: (next: E, waiting: E) => boolean
  /** How many events of one key may wait. Beyond it the oldest is dropped that `isDispensable`. */
  readonly capacity?: number
  readonly isDispensable?: (event: E) => boolean
  /** Milliseconds from an arbitrary moment, for `waitingSinceMs`. */
  readonly now?: () => number
}

/** So many urgent keys go first before one of the backlog gets its turn: nobody starves. */
const urgentInARow = 16

export class KeyedQueue<K, E> {
  /** A key is here from its first event until its worker has found nothing more; never with a worker gone. */
  readonly #waiting = new Map<K, E[]>()
  /** Keys in `#waiting` that have no worker yet, in the order they came; a key is in one of the two at most. */
  readonly #urgent = new Set<K>()
  readonly #backlog = new Set<K>()
  /** Since when each of them waits for a worker, longest first. */
  readonly #since = new Map<K, number>()
  readonly #work: Work<K, E>
  readonly #options: KeyedQueueOptions<E>
  #busy = 0
  /** Workers that do not count against the limit any more, because their work takes for ever. */
  readonly #excused = new Set<K>()
  #urgentServed = 0
  #onIdle: Array<() => void> = []
  #isClosed = false

  constructor(work: Work<K, E>, options: KeyedQueueOptions<E>) {
    this.#work = work
    this.#options = options
  }

  /** Keys that wait or are worked on. */
  get size(): number {
    return this.#waiting.size
  }

  /** Keys that no worker has taken on yet. */
  get waiting(): number {
    return this.#since.size
  }

  /** Since when the first of them has waited. */
  get waitingSinceMs(): number | undefined {
    return this.#since.values().next().value
  }

  /** Events of one key are worked on in the order they were put; keys do not wait for each other. */
  put(key: K, event: E, urgency: Urgency = 'now'): void {
    if (this.#isClosed) return
    const events = this.#waiting.get(key)
    if (events !== undefined) {
      this.#append(events, event)
      if (urgency === 'now' && this.#backlog.delete(key)) this.#urgent.add(key)
      return
    }
    this.#waiting.set(key, [event])
    this.#since.set(key, this.#options.now?.() ?? 0)
    if (urgency === 'now') this.#urgent.add(key)
    else this.#backlog.add(key)
    this.#hire()
  }

  /** The limit may have been raised: whoever can begin now, begins. */
  recheckLimit(): void {
    this.#hire()
  }

  /** Whether something came for this key while it is being worked on. */
  hasNews(key: K): boolean {
    return (this.#waiting.get(key)?.length ?? 0) > 0
  }

  /** The work on this key has no end in sight: another key may be taken on in its place. */
  excuse(key: K): void {
    if (!this.#waiting.has(key) || this.#urgent.has(key) || this.#backlog.has(key) || this.#excused.has(key)) return
    this.#excused.add(key)
    this.#busy -= 1
    this.#hire()
  }

  /** Drops such events that wait; what is being worked on goes on. */
  discard(isDispensable: (event: E) => boolean): void {
    for (const [key, events] of this.#waiting) {
      const kept = events.filter((event) => !isDispensable(event))
      events.length = 0
      for (const event of kept) events.push(event)
      // Where a worker is on the key, it will find that there is nothing more.
      if (kept.length > 0 || !(this.#urgent.delete(key) || this.#backlog.delete(key))) continue
      this.#waiting.delete(key)
      this.#since.delete(key)
    }
    this.#settle()
  }

  /** What waits for this key is of no interest any more; what is being worked on goes on. */
  drop(key: K): void {
    if (this.#urgent.delete(key) || this.#backlog.delete(key)) this.#waiting.delete(key)
    this.#since.delete(key)
    this.#settle()
  }

  /** Nothing more is taken on; what waits is dropped, what is being worked on goes on. */
  close(): void {
    this.#isClosed = true
    for (const key of [...this.#urgent, ...this.#backlog]) this.#waiting.delete(key)
    this.#urgent.clear()
    this.#backlog.clear()
    this.#since.clear()
    for (const events of this.#waiting.values()) events.length = 0
    this.#settle()
  }

  /** Resolves when nothing waits and nobody works. */
  idle(): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve()
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
    while (this.#busy < this.#options.limit()) {
      const key = this.#next()
      if (key === undefined) return
      this.#busy += 1
      void this.#drain(key)
    }
  }

  #next(): K | undefined {
    const isTurnOfBacklog = this.#urgent.size === 0 || this.#urgentServed >= urgentInARow
    const [from, isUrgent] =
      isTurnOfBacklog && this.#backlog.size > 0 ? ([this.#backlog, false] as const) : ([this.#urgent, true] as const)
    for (const key of from) {
      from.delete(key)
      this.#since.delete(key)
      this.#urgentServed = isUrgent ? this.#urgentServed + 1 : 0
      return key
    }
    return undefined
  }

  async #drain(key: K): Promise<void> {
    const events = this.#waiting.get(key) ?? []
    while (events.length > 0) await this.#work(key, events.splice(0))
    // In the same tick as the last look at the events: one put later starts a new worker.
    this.#waiting.delete(key)
    if (!this.#excused.delete(key)) this.#busy -= 1
    this.#hire()
    this.#settle()
  }

  #settle(): void {
    if (this.#waiting.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
  }
}
