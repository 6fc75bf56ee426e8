/**
 * Determines the mutating webhooks to call a second time: webhooks with reinvocationPolicy `IfNeeded` that were called before a later
 * change.
 */
import type { Hook } from './hooks.ts'

export class Reinvocations {
  /** Called since the last change. */
  #asked = new Set<string>()
  readonly #due = new Set<string>()
  #isNeeded = false

  /** True if any webhook has changed the object. */
  get isNeeded(): boolean {
    return this.#isNeeded
  }

  isDue({ id }: Hook): boolean {
    return this.#due.has(id)
  }

  /** Records the call of a webhook. Its own change does not reinvoke it. */
  note({ id, isReinvoked }: Hook, hasChanged: boolean): void {
    if (hasChanged) {
      this.#isNeeded = true
      for (const earlier of this.#asked) this.#due.add(earlier)
      this.#asked.clear()
    }
    if (isReinvoked) this.#asked.add(id)
  }
}
