/**
 * A queue for work triggered by changes in the store: keys are processed one at a time in a microtask after the change, and
 * duplicates are merged.
 */
import type { ServerContext } from '../call.ts'
import { StatusError } from '../status.ts'
import { ControllerFailures } from './failures.ts'

export class MicrotaskQueue<K> {
  readonly #waiting = new Set<K>()
  readonly #work: (key: K) => void
  readonly #failures: ControllerFailures<K>
  #isScheduled = false

  constructor(parts: Pick<ServerContext, 'clock' | 'closing' | 'log'>, controller: string, work: (key: K) => void) {
    this.#work = work
    this.#failures = new ControllerFailures(parts, controller)
  }

  /** Runs after the current write has completed, never inside it. */
  add(key: K): void {
    this.#waiting.add(key)
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => this.#drain())
  }

  #drain(): void {
    this.#isScheduled = false
    for (const key of this.#waiting) {
      this.#waiting.delete(key)
      this.#attempt(key)
    }
  }

  /** A rejected write is not retried: a retry would fail as well until something changes. */
  #attempt(key: K): void {
    try {
      this.#work(key)
      this.#failures.succeed(key)
    } catch (error) {
      if (error instanceof StatusError) return
      void this.#failures.fail(key, error).then((isDue) => isDue && this.add(key))
    }
  }
}
