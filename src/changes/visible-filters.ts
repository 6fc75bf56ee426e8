/** Compares the filters of handlers with the object as earlier handlers of the same cycle have changed it. Used by cycle.ts. */

import type { Cause } from '../causation/cause.ts'
import type { ChangeHandler } from '../handlers/handler.ts'
import { looksAtObject, type MatchContext, selectHandlers } from '../handlers/matching.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { VisibleState } from './visible-state.ts'

export interface VisibleFiltersOptions {
  readonly visible: VisibleState
  /** The object and the cause that filters are compared with; `changed` is the object as handlers of this cycle have changed it. */
  readonly matchContextOf: (cause: Cause, changed?: KubeObject) => MatchContext
}

export class VisibleFilters {
  readonly #options: VisibleFiltersOptions
  /** The version of the visible state at the last selection of handlers. */
  #selectedAt = 0
  #hasFailed = false

  constructor(options: VisibleFiltersOptions) {
    this.#options = options
  }

  /**
   * Whether a filter has thrown for the visible state. The cycle then ends and is written, because handlers have been called; the next cycle calls the
   * filter before any handler and reports the error.
   */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  matchContextOf(cause: Cause): MatchContext {
    const { matchContextOf, visible } = this.#options
    return matchContextOf(cause, visible.changed)
  }

  /** Whether a handler that matched at the beginning of the cycle still matches. */
  matches(handler: ChangeHandler, cause: Cause): boolean {
    if (!this.#options.visible.mayHaveChanged || !looksAtObject(handler)) return true
    return this.#judge(() => selectHandlers([handler], this.matchContextOf(cause)).length > 0) ?? false
  }

  /** Calls `select` if the object has changed since the last selection. Kopf selects again after every handler. */
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
