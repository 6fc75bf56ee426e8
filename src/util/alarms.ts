/**
 * Who is to be woken when: one entry per key, kept in a heap, with one sleeper for all of them.
 * Retries, pauses and throttled objects wait here, in memory; nobody holds a worker or writes to wake itself.
 */
import { type Clock, monotonicOf, nextTurn, noLongerNeeded } from './clock.ts'

interface Entry<K> {
  /** Undefined in what is left of an alarm that does not count any more: it must not keep anything alive. */
  key: K | undefined
  /** By the clock that nobody sets: a correction of the time of day neither brings an alarm forward nor puts it off. */
  readonly dueMs: number
}

/** Fewer than these are not worth looking for. */
const leftoversAtLeast = 256

/** So many are rung before others get their turn: after a pause, ten thousand may be due at the same moment. */
const ringsPerTurn = 100

export class Alarms<K> {
  /** The entry that counts for a key; always one of the heap. */
  readonly #due = new Map<K, Entry<K>>()
  /** A binary heap by time; may hold leftovers. */
  readonly #heap: Entry<K>[] = []
  readonly #clock: Clock
  readonly #ring: (key: K) => void
  readonly #signal: AbortSignal | undefined
  #sleepingUntil = Infinity
  #wake: AbortController | undefined

  /** With the signal, all of it ends; without one, when nothing is set any more. */
  constructor(clock: Clock, ring: (key: K) => void, signal?: AbortSignal) {
    this.#clock = clock
    this.#ring = ring
    this.#signal = signal
    signal?.addEventListener('abort', () => this.#wake?.abort(noLongerNeeded), { once: true })
  }

  get size(): number {
    return this.#due.size
  }

  /** At a time of day. The earlier of two times for one key counts. */
  set(key: K, atMs: number): void {
    this.setAfter(key, atMs - this.#clock.now())
  }

  /** Likewise, so long from now. */
  setAfter(key: K, delayMs: number): void {
    const dueMs = monotonicOf(this.#clock) + delayMs
    const current = this.#due.get(key)
    if (current !== undefined && current.dueMs <= dueMs) return
    if (current !== undefined) current.key = undefined
    const entry: Entry<K> = { key, dueMs }
    this.#due.set(key, entry)
    this.#push(entry)
    if (dueMs < this.#sleepingUntil) this.#sleep()
  }

  cancel(key: K): void {
    const entry = this.#due.get(key)
    if (entry === undefined) return
    this.#due.delete(key)
    entry.key = undefined
    // With a signal, somebody ends it: the timer may go on, and serve the next one.
    if (this.#due.size === 0 && this.#signal === undefined) this.#rest()
    else if (this.#heap.length > leftoversAtLeast && this.#heap.length > 4 * this.#due.size) this.#compact()
  }

  /** Nobody is to be woken: no timer keeps the process alive. */
  #rest(): void {
    this.#heap.length = 0
    this.#sleepingUntil = Infinity
    this.#wake?.abort(noLongerNeeded)
    this.#wake = undefined
  }

  /** Leftovers go when their time comes; where most are cancelled long before, they would pile up until then. */
  #compact(): void {
    this.#heap.length = 0
    for (const entry of this.#due.values()) this.#push(entry)
  }

  /** One sleep at a time: an earlier alarm ends the one that is under way. */
  #sleep(): void {
    this.#wake?.abort(noLongerNeeded)
    this.#dropLeftovers()
    const first = this.#heap[0]
    if (first === undefined || this.#signal?.aborted) {
      this.#sleepingUntil = Infinity
      return
    }
    this.#sleepingUntil = first.dueMs
    const wake = new AbortController()
    this.#wake = wake
    this.#clock.sleep(Math.max(0, Math.ceil(first.dueMs - monotonicOf(this.#clock))), wake.signal).then(
      () => this.#ringDue(wake),
      () => {},
    )
  }

  async #ringDue(wake: AbortController): Promise<void> {
    for (let rung = 0; this.#wake === wake && !this.#signal?.aborted; ) {
      const first = this.#heap[0]
      if (first === undefined || first.dueMs > monotonicOf(this.#clock)) return this.#sleep()
      if (rung === ringsPerTurn) {
        rung = 0
        // Whatever is set or cancelled meanwhile finds the heap in order.
        await nextTurn()
        continue
      }
      this.#pop()
      if (first.key === undefined) continue
      this.#due.delete(first.key)
      rung += 1
      this.#ring(first.key)
    }
  }

  #dropLeftovers(): void {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.key !== undefined) return
      this.#pop()
    }
  }

  #push(entry: Entry<K>): void {
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
