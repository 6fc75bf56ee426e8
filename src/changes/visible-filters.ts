/** Filters of handlers, judged by the object as the handlers before have changed it in the same cycle. Used by cycle.ts. */

import type { Cause } from '../causation/cause.ts'
import type { ChangeHandler } from '../handlers/handler.ts'
import { looksAtObject, type MatchContext, selectHandlers } from '../handlers/matching.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { VisibleState } from './visible-state.ts'

export interface VisibleFiltersOptions {
  readonly visible: VisibleState
  /** What there is to judge a handler by, for any cause; of the object as handlers have changed it, if that is given. */
  readonly matchContextOf: (cause: Cause, changed?: KubeObject) => MatchContext
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

  matchContextOf(cause: Cause): MatchContext {
    const { matchContextOf, visible } = this.#options
    return matchContextOf(cause, visible.changed)
  }

  /** Whether a handler that matched the object at the beginning of the cycle still does. */
  matches(handler: ChangeHandler, cause: Cause): boolean {
    if (!this.#options.visible.mayHaveChanged || !looksAtObject(handler)) return true
    return this.#judge(() => selectHandlers([handler], this.matchContextOf(cause)).length > 0) ?? false
  }

  /** Calls `select` if the object has changed since the last call. Kopf selects its handlers again after each of them. */
  selectAgain(handlers: readonly ChangeHandler[], cause: Cause, select: (context: MatchContext) => void): void {
    if (!handlers.some(looksAtObject)) return
    const { version } = this.#options.visible
    if (version === this.#selectedAt) return
    this.#selectedAt = version
    this.#judge(() => select(this.matchContextOf(cause)))
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
