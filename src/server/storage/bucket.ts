/** The objects of one collection in one namespace, by name; those of a cluster-scoped resource are all in one. */
import type { Stored } from './stored.ts'

export class Bucket {
  readonly #objects = new Map<string, Stored>()

  /** The names in order; undefined where some have gone since. Those that have come since are at the end. */
  #names: string[] | undefined
  #isSorted = false

  /** The objects in the order of their names, as long as nothing changes: a list in pages asks for them again and again. */
  #listed: readonly Stored[] | undefined

  get size(): number {
    return this.#objects.size
  }

  get(name: string): Stored | undefined {
    return this.#objects.get(name)
  }

  set(stored: Stored): void {
    if (this.#names !== undefined && !this.#objects.has(stored.name)) {
      this.#names.push(stored.name)
      this.#isSorted = false
    }
    this.#objects.set(stored.name, stored)
    this.#listed = undefined
  }

  delete(name: string): void {
    this.#objects.delete(name)
    this.#names = undefined
    this.#listed = undefined
  }

  values(): Iterable<Stored> {
    return this.#objects.values()
  }

  /** Never changed once it is handed out. */
  list(): readonly Stored[] {
    this.#listed ??= this.#sorted().map((name) => this.#objects.get(name)!)
    return this.#listed
  }

  /** By code units, as the real server lists. What is nearly in order is soon in order. */
  #sorted(): readonly string[] {
    if (this.#names === undefined) {
      this.#names = [...this.#objects.keys()]
      this.#isSorted = false
    }
    if (!this.#isSorted) this.#names.sort()
    this.#isSorted = true
    return this.#names
  }
}
