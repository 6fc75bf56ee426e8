/**
 * An immutable map with string keys, in the order of insertion. `with()` and `without()` return a new map and share all other entries with the old
 * one. A change copies one path of a tree with 32 branches per node, so its cost hardly depends on the size of the map.
 */

const bits = 5
const mask = (1 << bits) - 1

/** A leaf has entries, any other node has nodes. A removed entry is undefined. */
type TreeNode = readonly unknown[]

export class PersistentMap<V> {
  /** The position of each key. Maps that come from one another share it; positions from `#length` on belong to newer maps. */
  readonly #positions: Map<string, number>
  readonly #root: TreeNode
  /** The number of levels above the leaves, times `bits`. */
  readonly #shift: number
  /** The number of positions, removed entries included. */
  readonly #length: number
  readonly size: number

  private constructor(positions: Map<string, number>, tree: Tree, size: number) {
    this.#positions = positions
    this.#root = tree.root
    this.#shift = tree.shift
    this.#length = tree.length
    this.size = size
  }

  static empty<V>(): PersistentMap<V> {
    return new PersistentMap<V>(new Map(), { root: [], shift: 0, length: 0 }, 0)
  }

  get(key: string): V | undefined {
    const position = this.#positionOf(key)
    return position === undefined ? undefined : this.#entryAt(position)?.[1]
  }

  has(key: string): boolean {
    const position = this.#positionOf(key)
    return position !== undefined && this.#entryAt(position) !== undefined
  }

  *entries(): IterableIterator<readonly [string, V]> {
    for (let position = 0; position < this.#length; position += 1) {
      const entry = this.#entryAt(position)
      if (entry !== undefined) yield entry
    }
  }

  with(key: string, value: V): PersistentMap<V> {
    const known = this.#positionOf(key)
    if (known !== undefined) {
      const size = this.size + (this.#entryAt(known) === undefined ? 1 : 0)
      return new PersistentMap<V>(this.#positions, this.#replaced(known, [key, value]), size)
    }
    const positions = this.#ownPositions()
    positions.set(key, this.#length)
    return new PersistentMap<V>(positions, this.#appended([key, value]), this.size + 1)
  }

  without(key: string): PersistentMap<V> {
    const position = this.#positionOf(key)
    if (position === undefined || this.#entryAt(position) === undefined) return this
    return new PersistentMap<V>(this.#positions, this.#replaced(position, undefined), this.size - 1)
  }

  #positionOf(key: string): number | undefined {
    const position = this.#positions.get(key)
    return position === undefined || position >= this.#length ? undefined : position
  }

  #entryAt(position: number): readonly [string, V] | undefined {
    let node = this.#root
    for (let shift = this.#shift; shift > 0; shift -= bits) node = node[(position >>> shift) & mask] as TreeNode
    return node[position & mask] as readonly [string, V] | undefined
  }

  #replaced(position: number, entry: unknown): Tree {
    return { root: withEntry(this.#root, this.#shift, position, entry), shift: this.#shift, length: this.#length }
  }

  #appended(entry: unknown): Tree {
    const position = this.#length
    const isFull = position >>> (this.#shift + bits) > 0
    const root = isFull ? [this.#root] : this.#root
    const shift = isFull ? this.#shift + bits : this.#shift
    return { root: withEntry(root, shift, position, entry), shift, length: position + 1 }
  }

  /** A newer map may have used the next position for another key: then this map gets positions of its own. */
  #ownPositions(): Map<string, number> {
    if (this.#positions.size === this.#length) return this.#positions
    return new Map([...this.#positions].filter(([, position]) => position < this.#length))
  }
}

interface Tree {
  readonly root: TreeNode
  readonly shift: number
  readonly length: number
}

/** Copies the nodes on the path to the position. The depth is the logarithm of the size to base 32. */
function withEntry(node: TreeNode | undefined, shift: number, position: number, entry: unknown): TreeNode {
  const copy = node === undefined ? [] : [...node]
  const slot = (position >>> shift) & mask
  copy[slot] = shift === 0 ? entry : withEntry(copy[slot] as TreeNode | undefined, shift - bits, position, entry)
  return copy
}
