/** Events live for an hour after they were last written. The old go when new ones come: no timer, and no heap of them. */
import type { Parts } from '../call.ts'
import type { Change } from '../storage/stored.ts'
import { FollowUp } from './follow-up.ts'

const collection = 'events'
const lifetimeMs = 3_600_000

export class EventExpirer {
  readonly #parts: Parts

  /** What was written, oldest first. An event that was written again, or is gone, has a later version or none. */
  #written: Array<{ readonly key: string; readonly version: number; readonly time: number }> = []
  readonly #sweep = new FollowUp<'sweep'>(() => this.#expire())

  constructor(parts: Parts) {
    this.#parts = parts
    parts.store.subscribe(collection, (change) => this.#hear(change))
  }

  #hear({ type, current }: Change): void {
    if (type === 'DELETED') return
    this.#written.push({ key: current.key, version: current.version, time: this.#parts.clock.now() })
    if (this.#written[0]!.time + lifetimeMs <= this.#parts.clock.now()) this.#sweep.add('sweep')
  }

  #expire(): void {
    const limit = this.#parts.clock.now() - lifetimeMs
    const kept = this.#written.findIndex(({ time }) => time > limit)
    const expired = this.#written.splice(0, kept < 0 ? this.#written.length : kept)
    for (const { key, version } of expired) {
      const current = this.#parts.store.collection(collection).get(key)
      if (current?.version === version) this.#parts.store.remove(current)
    }
  }
}
