/** The first items of a long sequence in some order, without sorting all of it. */

export class Smallest<T> {
  readonly #limit: number
  readonly #compare: (a: T, b: T) => number
  /** A binary heap: the greatest of the kept items is the first. */
  readonly #heap: T[] = []

  constructor(limit: number, compare: (a: T, b: T) => number) {
    this.#limit = limit
    this.#compare = compare
  }

  add(item: T): void {
    const heap = this.#heap
    if (heap.length < this.#limit) {
      heap.push(item)
      this.#up(heap.length - 1)
    } else if (this.#limit > 0 && this.#compare(item, heap[0]!) < 0) {
      heap[0] = item
      this.#down()
    }
  }

  /** In order. */
  get items(): readonly T[] {
    return this.#heap.toSorted(this.#compare)
  }

  #up(start: number): void {
    const heap = this.#heap
    for (let index = start; index > 0; ) {
      const parent = (index - 1) >> 1
      if (this.#compare(heap[parent]!, heap[index]!) >= 0) return
      this.#swap(parent, index)
      index = parent
    }
  }

  #down(): void {
    const heap = this.#heap
    for (let index = 0; ; ) {
      let child = 2 * index + 1
      if (child >= heap.length) return
      if (child + 1 < heap.length && this.#compare(heap[child]!, heap[child + 1]!) < 0) child += 1
      if (this.#compare(heap[index]!, heap[child]!) >= 0) return
      this.#swap(index, child)
      index = child
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap
    const item = heap[a]!
    heap[a] = heap[b]!
    heap[b] = item
  }
}
