/** A map of limited size that drops the least recently used entry. */
export class LruMap<K, V> {
  /** In the order of last use, oldest first. */
  readonly #entries = new Map<K, V>()
  readonly #maxSize: number

  constructor(size: number) {
    this.#maxSize = size
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  set(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#maxSize) return
    const [oldest] = this.#entries.keys()
    this.#entries.delete(oldest as K)
  }
}
