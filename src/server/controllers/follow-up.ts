/** Work that follows from a change: done soon after it, one piece at a time, each key once however often it was asked for. */
import type { Parts } from '../call.ts'
import { StatusError } from '../status.ts'
import { ControllerFailures } from './failures.ts'

export class FollowUp<K> {
  readonly #waiting = new Set<K>()
  readonly #work: (key: K) => void
  readonly #failures: ControllerFailures<K>
  #isScheduled = false

  constructor(parts: Pick<Parts, 'clock' | 'closing' | 'log'>, controller: string, work: (key: K) => void) {
    this.#work = work
    this.#failures = new ControllerFailures(parts, controller)
  }

  /** After whoever made the change is done with it: never inside their write. */
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

  /** What is refused is left as it is: the real controllers would try in vain until something changes. */
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
