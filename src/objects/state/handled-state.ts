/** What an object does not keep of its handling, e.g. because its schema drops the storage fields: remembered until the operator restarts. */
import type { Essence } from '../../causation/cause.ts'
import type { Progress } from '../../handlers/progress.ts'
import { toLazy } from '../../util/json/lazy-json.ts'

export type ProgressById = ReadonlyMap<string, Progress>

export class HandledState {
  #isInitial: boolean
  #progress: ProgressById | undefined
  #essence: Essence | undefined

  constructor(isInitial: boolean) {
    this.#isInitial = isInitial
  }

  /** The object existed when the operator started to watch, and was not handled to the end since. */
  get isInitial(): boolean {
    return this.#isInitial
  }

  /** The progress of unfinished handlers, as it should be on the object. */
  get progress(): ProgressById | undefined {
    return this.#progress
  }

  /** The essence that was handled although the object does not store it. */
  get essence(): Essence | undefined {
    return this.#essence
  }

  keepProgress(progress: ProgressById | undefined): void {
    this.#progress = progress
  }

  /** Undefined if the object stores the essence itself. */
  keepEssence(essence: Essence | undefined): void {
    this.#essence = essence && toLazy(essence)
  }

  /** The handlers finished for the first time since the operator started. */
  finishInitial(): void {
    this.#isInitial = false
  }
}
