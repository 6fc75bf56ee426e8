/** The sub-handlers that one call of a handler has declared: which of them are called, and what has come of them. Used by cycle.ts. */
import type { JsonObject } from '../../kube/objects.ts'
import type { Agenda } from './agenda.ts'
import type { Cause } from './cause.ts'
import type { Handler } from './handler.ts'
import { ChildrenRetry } from './outcomes.ts'
import { isFinished } from './progress.ts'
import { selectHandlers } from './select.ts'
import type { SubhandlerOutcome } from './subhandling.ts'
import type { VisibleFilters } from './visible-filters.ts'

export interface SubhandlerRoundOptions {
  readonly agenda: Agenda
  readonly filters: VisibleFilters
  /** What the parent is called for; with `seen`, that is only the rest of a change. */
  readonly parent: { readonly cause: Cause; readonly seen: string | undefined }
  /** The ids of the records of the parent, and of each handler above it. */
  readonly lineage: readonly Set<string>[]
  readonly now: () => number
  /** The handlers to call next, of those selected. */
  readonly plan: (selected: Iterable<Handler>) => readonly Handler[]
  readonly run: (child: Handler) => Promise<void>
  /** The status as handlers see it. */
  readonly status: () => object
}

export class SubhandlerRound {
  readonly #options: SubhandlerRoundOptions
  readonly #selected = new Set<Handler>()

  constructor(options: SubhandlerRoundOptions) {
    this.#options = options
  }

  /** Resolves when all are finished; throws `ChildrenRetry` where some are not, and the parent must be called again. */
  async play(declared: readonly Handler[]): Promise<readonly SubhandlerOutcome[]> {
    const { plan, filters } = this.#options
    for (let isOver = false; !isOver; ) {
      this.#select(declared)
      const planned = plan(this.#selected)
      for (const child of planned) await this.#call(child)
      isOver = planned.length === 0 || filters.hasFailed
    }
    const selected = [...this.#selected]
    this.#waitFor(selected.filter(({ id }) => !isFinished(this.#progressOf(id))))
    return selected.map((child) => this.#outcomeOf(child))
  }

  #select(declared: readonly Handler[]): void {
    const { agenda, filters, parent, lineage } = this.#options
    for (const child of selectHandlers(declared, filters.situationOf(parent.cause))) {
      if (this.#selected.has(child)) continue
      this.#selected.add(child)
      for (const subrefs of lineage) subrefs.add(child.id)
      agenda.admit(child, parent)
    }
  }

  async #call(child: Handler): Promise<void> {
    const { agenda, filters, parent, run } = this.#options
    if (filters.matches(child, parent.cause)) {
      await run(child)
    } else if (!filters.hasFailed) {
      this.#selected.delete(child)
      agenda.drop(child)
    }
  }

  #waitFor(pending: readonly Handler[]): void {
    if (pending.length === 0) return
    const { agenda, now } = this.#options
    const nowMs = now()
    const wakeMs = pending.reduce((least, { id }) => Math.min(least, this.#progressOf(id).delayedMs ?? nowMs), Infinity)
    throw new ChildrenRetry(Math.max(0, wakeMs - nowMs), { hasAsked: pending.some((child) => agenda.hasAsked(child)) })
  }

  /** Of a sub-handler that is finished, in this cycle or in an earlier one. */
  #outcomeOf({ id }: Handler): SubhandlerOutcome {
    const { success, message, retries } = this.#progressOf(id)
    const status = this.#options.status() as JsonObject
    const result = success && Object.hasOwn(status, id) ? status[id] : undefined
    return { id, succeeded: success, result, message: success ? undefined : message, attempts: retries }
  }

  #progressOf(id: string) {
    return this.#options.agenda.ledger.get(id)!
  }
}
