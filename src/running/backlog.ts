/**
 * The objects that were there before the operator, until each has been looked at once: from here, an observer is told how far it
 * has caught up. Holds those that are still to come and nothing else. Made by create-runtime.ts, only where there is an observer.
 */
import { isAccompanied } from './background.ts'
import type { Memory } from './memories.ts'
import type { ObjectOutcome, RunObserver } from './run-observer.ts'

export class Backlog {
  readonly #observer: Partial<RunObserver>
  readonly #awaited = new Set<Memory>()

  constructor(observer: Partial<RunObserver>) {
    this.#observer = observer
  }

  found(memory: Memory): void {
    if (this.#awaited.has(memory)) return
    this.#awaited.add(memory)
    this.#observer.found?.(memory.served.resource)
  }

  /** `outcome` is that of its handlers of changes; undefined where none is for it. */
  visited(memory: Memory, outcome: ObjectOutcome | undefined): void {
    if (!this.#awaited.has(memory) || isStillWaiting(memory)) return
    this.#settle(memory, memory.isGone ? 'left' : judge(memory, outcome))
  }

  /** Removes the waiting objects that are among these. */
  leave(isLeft: (memory: Memory) => boolean): void {
    for (const memory of this.#awaited) if (isLeft(memory)) this.#settle(memory, 'left')
  }

  #settle(memory: Memory, outcome: ObjectOutcome): void {
    this.#awaited.delete(memory)
    this.#observer.settled?.(memory.served.resource, outcome)
  }
}

/** A reconciler is not called before all children are in sight; the object comes again then. */
function isStillWaiting({ reconciling, isGone }: Memory): boolean {
  return !isGone && [...(reconciling?.values() ?? [])].some(({ isWaiting }) => isWaiting)
}

/** The worst of what has happened to it; else the most. */
function judge(memory: Memory, outcome: ObjectOutcome | undefined): ObjectOutcome {
  if (outcome === 'retrying' || outcome === 'failed') return outcome
  const reconciliations = [...(memory.reconciling?.values() ?? [])]
  if (reconciliations.some(({ retries }) => retries > 0)) return 'retrying'
  if (reconciliations.some(({ hasFailed }) => hasFailed)) return 'failed'
  if (reconciliations.length > 0 && (outcome === undefined || outcome === 'unchanged')) return 'reconciled'
  if (outcome !== undefined) return outcome
  return isAccompanied(memory) || memory.served.handlers.event.length > 0 ? 'watched' : 'skipped'
}
