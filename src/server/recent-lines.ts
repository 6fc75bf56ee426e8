/**
 * A cache of encoded watch events, so that each change is encoded once for all its watches. Bounded: for slow watchers events are
 * encoded again.
 */
import type { ApiResource } from './resource.ts'
import type { Stored } from './storage/stored.ts'

export interface EncodedEvent {
  readonly type: string
  readonly resource: ApiResource
  readonly bytes: Uint8Array
}

const maxBytes = 4 * 1024 * 1024

export class RecentLines {
  /** Oldest first. */
  readonly #lines = new Map<Stored, EncodedEvent>()
  #bytes = 0

  get(stored: Stored): EncodedEvent | undefined {
    return this.#lines.get(stored)
  }

  set(stored: Stored, line: EncodedEvent): void {
    this.#forget(stored)
    this.#lines.set(stored, line)
    this.#bytes += line.bytes.length
    for (const oldest of this.#lines.keys()) {
      if (this.#bytes <= maxBytes) return
      this.#forget(oldest)
    }
  }

  #forget(stored: Stored): void {
    this.#bytes -= this.#lines.get(stored)?.bytes.length ?? 0
    this.#lines.delete(stored)
  }
}
