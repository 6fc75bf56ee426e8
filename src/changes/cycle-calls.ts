/**
 * The calls of one cycle so far: which handlers were called, are running, have finished, or asked for a retry. Each handler is called once in a cycle;
 * one that asked for a retry is called again as soon as another handler has changed the object. Written by cycle.ts, read by plan.ts.
 */

/** A chain of this many handlers, each waiting for the next one, is called to its end in one cycle. Longer chains wait for their delays. */
const maxRepeats = 100

/** The facts about the calls that plan.ts depends on. */
export interface CallHistory {
  wasCalled(id: string): boolean
  hasFinished(id: string): boolean
  /** Whether the handler asked for a retry before the visible state changed to its current version. */
  isRepeatDue(id: string): boolean
}

export class CycleCalls implements CallHistory {
  readonly #called = new Set<string>()
  readonly #finished = new Set<string>()
  /** Running handlers, with the ids of the sub-handlers and steps that they have added so far. */
  readonly #running = new Map<string, ReadonlySet<string>>()
  /** The version of the visible state that a handler saw when it asked for a retry, by id. */
  readonly #requestedAt = new Map<string, number>()
  readonly #repeats = new Map<string, number>()
  readonly #version: () => number

  /** `version`: how often handlers have changed the object in this cycle; computed only when needed. */
  constructor(version: () => number) {
    this.#version = version
  }

  get hasAny(): boolean {
    return this.#called.size > 0
  }

  get running(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#running
  }

  get finished(): ReadonlySet<string> {
    return this.#finished
  }

  wasCalled(id: string): boolean {
    return this.#called.has(id)
  }

  hasFinished(id: string): boolean {
    return this.#finished.has(id)
  }

  /** Returns whether the handler was called in this cycle before. `subrefs` grows while the handler runs. */
  begin(id: string, subrefs: ReadonlySet<string>): boolean {
    const isRepeated = this.#called.has(id)
    if (isRepeated) {
      this.#requestedAt.delete(id)
      this.#repeats.set(id, (this.#repeats.get(id) ?? 0) + 1)
    }
    this.#called.add(id)
    this.#running.set(id, subrefs)
    return isRepeated
  }

  end(id: string, { isFinal }: { readonly isFinal: boolean }): void {
    this.#running.delete(id)
    if (isFinal) this.#finished.add(id)
  }

  /** The handler asked for a retry after it has seen the current version of the visible state. */
  requestRetry(id: string): void {
    this.#requestedAt.set(id, this.#version())
  }

  hasRequestedRetry(id: string): boolean {
    return this.#requestedAt.has(id)
  }

  isRepeatDue(id: string): boolean {
    const requestedAt = this.#requestedAt.get(id)
    return requestedAt !== undefined && (this.#repeats.get(id) ?? 0) < maxRepeats && requestedAt < this.#version()
  }

  /** Handlers that would be called again in this cycle if it went on. */
  dueRepeats(): string[] {
    return [...this.#requestedAt.keys()].filter((id) => this.isRepeatDue(id))
  }
}

/** Before the first call of a cycle, and for `kopf explain`. */
export const noCalls: CallHistory = { wasCalled: () => false, hasFinished: () => false, isRepeatDue: () => false }
