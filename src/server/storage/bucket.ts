/** The objects of one collection in one namespace, by name. A cluster-scoped resource has a single bucket. */
import type { Stored } from './stored.ts'

export class Bucket {
  readonly #objects = new Map<string, Stored>()

  /** Sorted names, with names added since the last sort at the end; undefined after a deletion. */
  #names: string[] | undefined
  #isSorted = false

  /** The objects sorted by name; dropped with every change. The pages of a list read it repeatedly. */
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

  /** The returned array is never modified. */
  list(): readonly Stored[] {
    this.#listed ??= this.#sorted().map((name) => this.#objects.get(name)!)
    return this.#listed
  }

  /** Sorts by code units like the Kubernetes API server. Sorting an almost sorted array is cheap. */
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
