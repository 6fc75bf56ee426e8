/**
 * Handlers that asked for a retry in this cycle, and are called again in it as soon as another handler has changed the object: what they
 * wait for may be there. Used by plan.ts.
 */

/** A chain of this many handlers, each waiting for the one after it, is called to its end in one cycle. Longer ones wait for their delays. */
const maxRepeats = 100

export class RequestedRetries {
  /** The version of the visible state that a handler has seen, by its id. */
  readonly #askedAt = new Map<string, number>()
  /** How often a handler was called again in this cycle, by its id. */
  readonly #repeats = new Map<string, number>()

  note(id: string, version: number): void {
    this.#askedAt.set(id, version)
  }

  has(id: string): boolean {
    return this.#askedAt.has(id)
  }

  ids(): IterableIterator<string> {
    return this.#askedAt.keys()
  }

  noteRepeat(id: string): void {
    this.#askedAt.delete(id)
    this.#repeats.set(id, (this.#repeats.get(id) ?? 0) + 1)
  }

  /** Whether the object has changed since the handler asked. `version` is the present one, worked out when it is needed. */
  isDue(id: string, version: () => number): boolean {
    const askedAt = this.#askedAt.get(id)
    return askedAt !== undefined && (this.#repeats.get(id) ?? 0) < maxRepeats && askedAt < version()
  }
}
