/**
 * The last events as they were sent, so that the bytes of a change are made once however many watch it. Bounded: watchers
 * that lag behind have theirs made anew, and objects that nobody asks for any more cost no second copy.
 */
import type { ServedResource } from './resource.ts'
import type { Stored } from './storage/stored.ts'

export interface Line {
  readonly type: string
  readonly resource: ServedResource
  readonly bytes: Uint8Array
}

const keptBytes = 4 * 1024 * 1024

export class RecentLines {
  /** Oldest first. */
  readonly #lines = new Map<Stored, Line>()
  #bytes = 0

  get(stored: Stored): Line | undefined {
    return this.#lines.get(stored)
  }

  set(stored: Stored, line: Line): void {
    this.#forget(stored)
    this.#lines.set(stored, line)
    this.#bytes += line.bytes.length
    for (const oldest of this.#lines.keys()) {
      if (this.#bytes <= keptBytes) return
      this.#forget(oldest)
    }
  }

  #forget(stored: Stored): void {
    this.#bytes -= this.#lines.get(stored)?.bytes.length ?? 0
    this.#lines.delete(stored)
  }
}
