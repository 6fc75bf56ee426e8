/**
 * The handling state of one object that is kept in memory until the operator restarts: needed if the object does not store progress and essence itself, e.g.
 * because its schema drops the fields. A part of WatchedObject.
 */
import type { Essence } from '../../causation/cause.ts'
import type { Progress } from '../../handlers/progress.ts'
import { toLazy } from '../../util/json/lazy-json.ts'

export type ProgressById = ReadonlyMap<string, Progress>

export class HandledState {
  #isInitial: boolean
  #progress: ProgressById | undefined
  #essence: Essence | undefined
  #isHastened = false

  constructor(isInitial: boolean) {
    this.#isInitial = isInitial
  }

  /** True for an object that existed when the operator started, until its handlers have finished for the first time. */
  get isInitial(): boolean {
    return this.#isInitial
  }

  /** The progress of unfinished handlers that the operator has tried to store on the object. */
  get progress(): ProgressById | undefined {
    return this.#progress
  }

  /** The last handled essence, if the object does not store it. */
  get essence(): Essence | undefined {
    return this.#essence
  }

  /** The next cycle calls the handlers that wait for their next attempt at once: a user has asked for it. */
  hasten(): void {
    this.#isHastened = true
  }

  /** Whether the delays of handlers do not count in the cycle that begins now. */
  takeHaste(): boolean {
    const isHastened = this.#isHastened
    this.#isHastened = false
    return isHastened
  }

  keepProgress(progress: ProgressById | undefined): void {
    this.#progress = progress
  }

  /** Call it with undefined if the object stores the essence itself. */
  keepEssence(essence: Essence | undefined): void {
    this.#essence = essence && toLazy(essence)
  }

  /** Called when the handlers have finished for the first time since the operator started. */
  finishInitial(): void {
    this.#isInitial = false
  }
}
