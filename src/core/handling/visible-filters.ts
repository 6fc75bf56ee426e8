/** Filters of handlers, judged by the object as the handlers before have changed it in the same cycle. Used by cycle.ts. */
import type { KubeObject } from '../../kube/objects.ts'
import type { Cause } from './cause.ts'
import type { Handler } from './handler.ts'
import { looksAtObject, type Situation, selectHandlers } from './select.ts'
import type { VisibleState } from './visible-state.ts'

export interface VisibleFiltersOptions {
  readonly visible: VisibleState
  /** What there is to judge a handler by, for any cause; of the object as handlers have changed it, if that is given. */
  readonly situationOf: (cause: Cause, changed?: KubeObject) => Situation
}

export class VisibleFilters {
  readonly #options: VisibleFiltersOptions
  /** The version of the visible state by which handlers were selected last. */
  #selectedAt = 0
  #hasFailed = false

  constructor(options: VisibleFiltersOptions) {
    this.#options = options
  }

  /**
   * A filter has failed on the visible state. Handlers of this cycle have done their work, and a failing filter must not keep that from
   * being written: the cycle ends, and the next one calls the filter first of all and reports the failure.
   */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  situationOf(cause: Cause): Situation {
    const { situationOf, visible } = this.#options
    return situationOf(cause, visible.changed)
  }

  /** Whether a handler that matched the object at the beginning of the cycle still does. */
  matches(handler: Handler, cause: Cause): boolean {
    if (!this.#options.visible.mayHaveChanged || !looksAtObject(handler)) return true
    return this.#judge(() => selectHandlers([handler], this.situationOf(cause)).length > 0) ?? false
  }

  /** Calls `select` if the object has changed since the last call. Kopf selects its handlers again after each of them. */
  selectAgain(handlers: readonly Handler[], cause: Cause, select: (situation: Situation) => void): void {
    if (!handlers.some(looksAtObject)) return
    const { version } = this.#options.visible
    if (version === this.#selectedAt) return
    this.#selectedAt = version
    this.#judge(() => select(this.situationOf(cause)))
  }

  #judge<R>(judge: () => R): R | undefined {
    try {
      return judge()
    } catch {
      this.#hasFailed = true
      return undefined
    }
  }
}
