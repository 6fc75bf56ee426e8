/**
 * Who is to be woken when: one entry per key, kept in a heap, with one sleeper for all of them.
 * Retries, pauses and throttled objects wait here, in memory; nobody holds a worker or writes to wake itself.
 */
import { type Clock, noLongerNeeded } from './clock.ts'

interface Entry<K> {
  readonly key: K
  readonly atMs: number
}

/** Fewer than these are not worth looking for. */
const leftoversAtLeast = 256

export class Alarms<K> {
  /** The time that counts for a key; heap entries that say another are leftovers. */
  readonly #due = new Map<K, number>()
  /** A binary heap by time; may hold leftovers, never misses a key of `#due`. */
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

  /** The earlier of two times for one key counts. */
  set(key: K, atMs: number): void {
    const current = this.#due.get(key)
    if (current !== undefined && current <= atMs) return
    this.#due.set(key, atMs)
    this.#push({ key, atMs })
    if (atMs < this.#sleepingUntil) this.#sleep()
  }

  cancel(key: K): void {
    if (!this.#due.delete(key)) return
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
    for (const [key, atMs] of this.#due) this.#push({ key, atMs })
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
    this.#sleepingUntil = first.atMs
    const wake = new AbortController()
    this.#wake = wake
    this.#clock.sleep(Math.max(0, first.atMs - this.#clock.now()), wake.signal).then(
      () => this.#ringDue(wake),
      () => {},
    )
  }

  #ringDue(wake: AbortController): void {
    if (this.#wake !== wake || this.#signal?.aborted) return
    const now = this.#clock.now()
    for (let first = this.#heap[0]; first !== undefined && first.atMs <= now; first = this.#heap[0]) {
      this.#pop()
      if (this.#due.get(first.key) !== first.atMs) continue
      this.#due.delete(first.key)
      this.#ring(first.key)
    }
    this.#sleep()
  }

  #dropLeftovers(): void {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#due.get(first.key) === first.atMs) return
      this.#pop()
    }
  }

  #push(entry: Entry<K>): void {
    const heap = this.#heap
    let index = heap.length
    heap.push(entry)
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (heap[parent]!.atMs <= entry.atMs) break
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
      if (child + 1 < heap.length && heap[child + 1]!.atMs < heap[child]!.atMs) child += 1
      if (heap[child]!.atMs >= last.atMs) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
  }
}
