/** Which mutating webhooks are to be asked a second time: those that wish it, and were asked before something changed. */
import type { Hook } from './hooks.ts'

export class Reinvocations {
  /** Asked since the last change. */
  #asked = new Set<string>()
  readonly #due = new Set<string>()
  #isNeeded = false

  /** Whether anything has changed at all. */
  get isNeeded(): boolean {
    return this.#isNeeded
  }

  isDue({ id }: Hook): boolean {
    return this.#due.has(id)
  }

  /** A webhook was asked. It has seen its own change. */
  note({ id, isReinvoked }: Hook, hasChanged: boolean): void {
    if (hasChanged) {
      this.#isNeeded = true
      for (const earlier of this.#asked) this.#due.add(earlier)
      this.#asked.clear()
    }
    if (isReinvoked) this.#asked.add(id)
  }
}
