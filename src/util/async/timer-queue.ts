/**
 * Many timers with one sleep: one timer per key, in a heap. Used for request timeouts and for objects that wait for a retry,
 * so that waiting occupies no worker.
 */
import { type Clock, monotonicNow, nextTurn, noLongerNeeded } from './clock.ts'

interface TimerEntry<K> {
  /** Undefined for a cancelled entry, so that it does not keep the key in memory. */
  key: K | undefined
  /** By the monotonic clock: setting the time of day does not move a timer. */
  readonly dueMs: number
}

/** Heaps up to this size are not compacted. */
const minCompactSize = 256

/** Number of calls before the event loop gets a turn: ten thousand timers may be due at the same moment. */
const callsPerTurn = 100

export class TimerQueue<K> {
  /** The current entry of each key; always in the heap. */
  readonly #due = new Map<K, TimerEntry<K>>()
  /** A binary heap by time, with cancelled entries. */
  readonly #heap: TimerEntry<K>[] = []
  readonly #clock: Clock
  readonly #onDue: (key: K) => void
  readonly #signal: AbortSignal | undefined
  #sleepingUntil = Infinity
  #wake: AbortController | undefined

  /** `onDue` is called for each due key. The sleep ends with the signal; without a signal, when no timer is set. */
  constructor(clock: Clock, onDue: (key: K) => void, signal?: AbortSignal) {
    this.#clock = clock
    this.#onDue = onDue
    this.#signal = signal
    signal?.addEventListener('abort', () => this.#wake?.abort(noLongerNeeded), { once: true })
  }

  get size(): number {
    return this.#due.size
  }

  /** Sets a timer by the time of day. Of two timers for one key, the earlier counts. */
  set(key: K, atMs: number): void {
    this.setAfter(key, atMs - this.#clock.now())
  }

  /** Sets a timer by a delay. Of two timers for one key, the earlier counts. */
  setAfter(key: K, delayMs: number): void {
    const dueMs = monotonicNow(this.#clock) + delayMs
    const current = this.#due.get(key)
    if (current !== undefined && current.dueMs <= dueMs) return
    if (current !== undefined) current.key = undefined
    const entry: TimerEntry<K> = { key, dueMs }
    this.#due.set(key, entry)
    this.#push(entry)
    if (dueMs < this.#sleepingUntil) this.#sleep()
  }

  /** The time until the timer of a key is due; 0 if it is overdue, and undefined without a timer. */
  remainingMs(key: K): number | undefined {
    const entry = this.#due.get(key)
    return entry && Math.max(0, entry.dueMs - monotonicNow(this.#clock))
  }

  cancel(key: K): void {
    const entry = this.#due.get(key)
    if (entry === undefined) return
    this.#due.delete(key)
    entry.key = undefined
    // With a signal, the sleep goes on for the next timer; the signal ends it.
    if (this.#due.size === 0 && this.#signal === undefined) this.#stopTimer()
    else if (this.#heap.length > minCompactSize && this.#heap.length > 4 * this.#due.size) this.#compact()
  }

  /** Ends the sleep without timers, so that it does not keep the process alive. */
  #stopTimer(): void {
    this.#heap.length = 0
    this.#sleepingUntil = Infinity
    this.#wake?.abort(noLongerNeeded)
    this.#wake = undefined
  }

  /** Removes cancelled entries, which would otherwise stay until their time. */
  #compact(): void {
    this.#heap.length = 0
    for (const entry of this.#due.values()) this.#push(entry)
  }

  /** Sleeps until the first timer is due. Ends the current sleep, since an earlier timer was set. */
  #sleep(): void {
    this.#wake?.abort(noLongerNeeded)
    this.#dropCancelled()
    const first = this.#heap[0]
    if (first === undefined || this.#signal?.aborted) {
      this.#sleepingUntil = Infinity
      return
    }
    this.#sleepingUntil = first.dueMs
    const wake = new AbortController()
    this.#wake = wake
    this.#clock.sleep(Math.max(0, Math.ceil(first.dueMs - monotonicNow(this.#clock))), wake.signal).then(
      () => this.#callDue(wake),
      () => {},
    )
  }

  async #callDue(wake: AbortController): Promise<void> {
    for (let called = 0; this.#wake === wake && !this.#signal?.aborted; ) {
      const first = this.#heap[0]
      if (first === undefined || first.dueMs > monotonicNow(this.#clock)) return this.#sleep()
      if (called === callsPerTurn) {
        called = 0
        // The heap is consistent here: timers may be set and cancelled meanwhile.
        await nextTurn()
        continue
      }
      this.#pop()
      if (first.key === undefined) continue
      this.#due.delete(first.key)
      called += 1
      this.#onDue(first.key)
    }
  }

  #dropCancelled(): void {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.key !== undefined) return
      this.#pop()
    }
  }

  #push(entry: TimerEntry<K>): void {
    const heap = this.#heap
    let index = heap.length
    heap.push(entry)
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (heap[parent]!.dueMs <= entry.dueMs) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1]!.dueMs < heap[child]!.dueMs) child += 1
      if (heap[child]!.dueMs >= last.dueMs) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
  }
}
