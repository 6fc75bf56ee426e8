/** A map of what was used last: beyond its size, what was longest unused is forgotten. */
export class RecentMap<K, V> {
  /** In the order of their last use. */
  readonly #entries = new Map<K, V>()
  readonly #size: number

  constructor(size: number) {
    this.#size = size
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  clear(): void {
    this.#entries.clear()
  }

  set(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#size) return
    const [oldest] = this.#entries.keys()
    this.#entries.delete(oldest as K)
  }
}
