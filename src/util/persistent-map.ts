/**
 * An immutable map with string keys, in the order of insertion. `with()` and `without()` return a new map and share all other entries with the old
 * one, so that a change of one entry among thousands copies only a few of them.
 */

const chunkSize = 64

export class PersistentMap<V> {
  /** The position of each key. Maps that come from one another share it; positions from `#length` on belong to newer maps. */
  readonly #positions: Map<string, number>
  readonly #chunks: readonly (readonly (readonly [string, V] | undefined)[])[]
  readonly #length: number
  readonly size: number

  private constructor(
    positions: Map<string, number>,
    chunks: readonly (readonly (readonly [string, V] | undefined)[])[],
    { length, size }: { readonly length: number; readonly size: number },
  ) {
    this.#positions = positions
    this.#chunks = chunks
    this.#length = length
    this.size = size
  }

  static empty<V>(): PersistentMap<V> {
    return new PersistentMap<V>(new Map(), [], { length: 0, size: 0 })
  }

  get(key: string): V | undefined {
    return this.#entryAt(this.#positionOf(key))?.[1]
  }

  has(key: string): boolean {
    return this.#entryAt(this.#positionOf(key)) !== undefined
  }

  *entries(): IterableIterator<readonly [string, V]> {
    for (const chunk of this.#chunks) for (const entry of chunk) if (entry !== undefined) yield entry
  }

  with(key: string, value: V): PersistentMap<V> {
    const known = this.#positionOf(key)
    if (known !== undefined) return this.#replace(known, [key, value])
    const positions = this.#ownPositions()
    positions.set(key, this.#length)
    const last = this.#chunks.at(-1)
    const isFull = last === undefined || last.length === chunkSize
    const chunks = isFull
      ? [...this.#chunks, [[key, value] as const]]
      : [...this.#chunks.slice(0, -1), [...last, [key, value] as const]]
    return new PersistentMap(positions, chunks, { length: this.#length + 1, size: this.size + 1 })
  }

  without(key: string): PersistentMap<V> {
    const position = this.#positionOf(key)
    return position === undefined || this.#entryAt(position) === undefined ? this : this.#replace(position, undefined)
  }

  #positionOf(key: string): number | undefined {
    const position = this.#positions.get(key)
    return position === undefined || position >= this.#length ? undefined : position
  }

  #entryAt(position: number | undefined): readonly [string, V] | undefined {
    if (position === undefined) return undefined
    return this.#chunks[Math.floor(position / chunkSize)]![position % chunkSize]
  }

  #replace(position: number, entry: readonly [string, V] | undefined): PersistentMap<V> {
    const number = Math.floor(position / chunkSize)
    const chunk = [...this.#chunks[number]!]
    const before = chunk[position % chunkSize]
    chunk[position % chunkSize] = entry
    const chunks = [...this.#chunks]
    chunks[number] = chunk
    const size = this.size + Number(entry !== undefined) - Number(before !== undefined)
    return new PersistentMap(this.#positions, chunks, { length: this.#length, size })
  }

  /** A newer map may have used the next position for another key: then this map gets positions of its own. */
  #ownPositions(): Map<string, number> {
    if (this.#positions.size === this.#length) return this.#positions
    return new Map([...this.#positions].filter(([, position]) => position < this.#length))
  }
}
