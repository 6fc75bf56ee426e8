/** The sub-handlers that one call of a handler has declared: which of them are called, and what has come of them. Used by cycle.ts. */

import type { Cause } from '../causation/cause.ts'
import type { SubhandlerOutcome } from '../handlers/args/call-parts.ts'
import type { Handler } from '../handlers/handler.ts'
import { selectHandlers } from '../handlers/matching.ts'
import { ChildrenRetry } from '../handlers/outcomes.ts'
import { isFinished } from '../handlers/progress.ts'
import type { JsonObject } from '../kube/objects.ts'
import type { HandlingPlan } from './plan.ts'
import type { VisibleFilters } from './visible-filters.ts'

export interface SubhandlerCallsOptions {
  readonly plan: HandlingPlan
  readonly filters: VisibleFilters
  /** What the parent is called for; with `seen`, that is only the rest of a change. */
  readonly parent: { readonly cause: Cause; readonly seen: string | undefined }
  /** The ids of the records of the parent, and of each handler above it. */
  readonly lineage: readonly Set<string>[]
  readonly now: () => number
  /** The handlers to call next, of those selected. */
  readonly order: (selected: Iterable<Handler>) => readonly Handler[]
  readonly run: (child: Handler) => Promise<void>
  /** The status as handlers see it. */
  readonly status: () => object
}

export class SubhandlerCalls {
  readonly #options: SubhandlerCallsOptions
  readonly #selected = new Set<Handler>()

  constructor(options: SubhandlerCallsOptions) {
    this.#options = options
  }

  /** Resolves when all are finished; throws `ChildrenRetry` where some are not, and the parent must be called again. */
  async play(declared: readonly Handler[]): Promise<readonly SubhandlerOutcome[]> {
    const { order, filters } = this.#options
    for (let isOver = false; !isOver; ) {
      this.#select(declared)
      const planned = order(this.#selected)
      for (const child of planned) await this.#call(child)
      isOver = planned.length === 0 || filters.hasFailed
    }
    const selected = [...this.#selected]
    this.#waitFor(selected.filter(({ id }) => !isFinished(this.#progressOf(id))))
    return selected.map((child) => this.#outcomeOf(child))
  }

  #select(declared: readonly Handler[]): void {
    const { plan, filters, parent, lineage } = this.#options
    for (const child of selectHandlers(declared, filters.matchContextOf(parent.cause))) {
      if (this.#selected.has(child)) continue
      this.#selected.add(child)
      for (const subrefs of lineage) subrefs.add(child.id)
      plan.admit(child, parent)
    }
  }

  async #call(child: Handler): Promise<void> {
    const { plan, filters, parent, run } = this.#options
    if (filters.matches(child, parent.cause)) {
      await run(child)
    } else if (!filters.hasFailed) {
      this.#selected.delete(child)
      plan.drop(child)
    }
  }

  #waitFor(pending: readonly Handler[]): void {
    if (pending.length === 0) return
    const { plan, now } = this.#options
    const nowMs = now()
    const wakeMs = pending.reduce((least, { id }) => Math.min(least, this.#progressOf(id).delayedMs ?? nowMs), Infinity)
    throw new ChildrenRetry(Math.max(0, wakeMs - nowMs), { hasAsked: pending.some((child) => plan.hasAsked(child)) })
  }

  /** Of a sub-handler that is finished, in this cycle or in an earlier one. */
  #outcomeOf({ id }: Handler): SubhandlerOutcome {
    const { success, message, retries } = this.#progressOf(id)
    const status = this.#options.status() as JsonObject
    const result = success && Object.hasOwn(status, id) ? status[id] : undefined
    return { id, succeeded: success, result, message: success ? undefined : message, attempts: retries }
  }

  #progressOf(id: string) {
    return this.#options.plan.state.get(id)!
  }
}
