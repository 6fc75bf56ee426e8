/** Calls the sub-handlers that one call of a handler has declared, and returns their outcomes. Used by cycle.ts. */

import type { Cause } from '../causation/cause.ts'
import type { SubhandlerOutcome } from '../handlers/args/call-parts.ts'
import type { ChangeHandler } from '../handlers/handler.ts'
import { selectHandlers } from '../handlers/matching.ts'
import { ChildrenRetry } from '../handlers/outcomes.ts'
import { isFinished, type Progress } from '../handlers/progress.ts'
import type { JsonObject } from '../kube/objects.ts'
import type { VisibleFilters } from './visible-filters.ts'

export interface SubhandlerCallsOptions {
  readonly filters: VisibleFilters
  /** The cause for which the parent is called. */
  readonly cause: Cause
  /** The ids of the records of the parent, and of each handler above it. */
  readonly lineage: readonly Set<string>[]
  readonly now: () => number
  readonly progressOf: (id: string) => Progress
  readonly hasRequestedRetry: (id: string) => boolean
  /** Adds a sub-handler to the state of the cycle. */
  readonly admit: (child: ChangeHandler) => void
  /** Removes a sub-handler whose filters do not match any more. */
  readonly drop: (child: ChangeHandler) => void
  /** The sub-handlers to call next, among the selected ones. */
  readonly next: (selected: Iterable<ChangeHandler>) => readonly ChangeHandler[]
  readonly run: (child: ChangeHandler) => Promise<void>
  /** The status as handlers see it. */
  readonly status: () => object
}

export class SubhandlerCalls {
  readonly #options: SubhandlerCallsOptions
  readonly #selected = new Set<ChangeHandler>()

  constructor(options: SubhandlerCallsOptions) {
    this.#options = options
  }

  /** Resolves when all sub-handlers have finished. Throws `ChildrenRetry` if some have not: the parent is then called again. */
  async run(declared: readonly ChangeHandler[]): Promise<readonly SubhandlerOutcome[]> {
    const { next, filters } = this.#options
    for (let isOver = false; !isOver; ) {
      this.#select(declared)
      const due = next(this.#selected)
      for (const child of due) await this.#call(child)
      isOver = due.length === 0 || filters.hasFailed
    }
    const selected = [...this.#selected]
    this.#waitFor(selected.filter(({ id }) => !isFinished(this.#options.progressOf(id))))
    return selected.map((child) => this.#outcomeOf(child))
  }

  #select(declared: readonly ChangeHandler[]): void {
    const { admit, filters, cause, lineage } = this.#options
    for (const child of selectHandlers(declared, filters.matchContextOf(cause))) {
      if (this.#selected.has(child)) continue
      this.#selected.add(child)
      for (const subrefs of lineage) subrefs.add(child.id)
      admit(child)
    }
  }

  async #call(child: ChangeHandler): Promise<void> {
    const { drop, filters, cause, run } = this.#options
    if (filters.matches(child, cause)) {
      await run(child)
    } else if (!filters.hasFailed) {
      this.#selected.delete(child)
      drop(child)
    }
  }

  #waitFor(pending: readonly ChangeHandler[]): void {
    if (pending.length === 0) return
    const { now, progressOf, hasRequestedRetry } = this.#options
    const nowMs = now()
    const wakeMs = pending.reduce((least, { id }) => Math.min(least, progressOf(id).delayedMs ?? nowMs), Infinity)
    const hasAsked = pending.some(({ id }) => hasRequestedRetry(id))
    throw new ChildrenRetry(Math.max(0, wakeMs - nowMs), { hasAsked })
  }

  /** The sub-handler has finished, in this cycle or in an earlier one. */
  #outcomeOf({ id }: ChangeHandler): SubhandlerOutcome {
    const { success, message, retries } = this.#options.progressOf(id)
    const status = this.#options.status() as JsonObject
    const result = success && Object.hasOwn(status, id) ? status[id] : undefined
    return { id, succeeded: success, result, message: success ? undefined : message, attempts: retries }
  }
}
