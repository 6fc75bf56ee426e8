/**
 * Iterates over the states of one object or list, beginning at a resource version. Each wait has its own replay of the shared
 * history.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { applyChanges, type HistoryChange, isUpTo, type ResourceHistory } from './resource-history.ts'

export interface ReplayOptions {
  readonly history: ResourceHistory
  /** The version of the first state; undefined for the oldest known state. */
  readonly from: string | undefined
  /** Selects the objects of the wait. An object that no longer matches leaves the list. */
  readonly matches: (key: string, object: KubeObject) => boolean
}

/** The selected objects at one version, by key. Valid until the next call of `next()`. */
export interface ReplayedState {
  readonly version: string | undefined
  readonly objects: ReadonlyMap<string, KubeObject>
  /** Keys of the objects that were deleted by this step, also if a new object has taken the name in the same step. */
  readonly deleted: readonly string[]
}

export class Replay {
  readonly #options: ReplayOptions
  readonly #objects = new Map<string, KubeObject>()
  /** The number of the next step in the history. */
  #next: number
  #version: string | undefined
  #hasBegun = false

  constructor(options: ReplayOptions) {
    const { history, from } = options
    this.#options = options
    this.#next = history.first
    for (const [key, object] of history.start) this.#apply([{ key, uid: object.metadata.uid, object }])
    for (let step = history.at(this.#next); step && isUpTo(step, from); step = history.at(this.#next)) {
      this.#take(step.version, step.changes)
    }
  }

  /** The next state; undefined if it has not happened yet. The first call returns the state at the beginning. */
  next(): ReplayedState | undefined {
    if (!this.#hasBegun) {
      this.#hasBegun = true
      return this.#state([])
    }
    const { history } = this.#options
    // The history has dropped steps that this replay has not read. They are part of the starting state of the history.
    if (this.#next < history.first) return this.#catchUp()
    for (let step = history.at(this.#next); step !== undefined; step = history.at(this.#next)) {
      const deleted = step.changes.filter(({ key, uid, object }) => this.#ends(key, uid, object)).map(({ key }) => key)
      if (this.#take(step.version, step.changes)) return this.#state(deleted)
    }
    return undefined
  }

  #catchUp(): ReplayedState {
    const { history } = this.#options
    this.#objects.clear()
    this.#next = history.first
    for (const [key, object] of history.start) this.#apply([{ key, uid: object.metadata.uid, object }])
    return this.#state([])
  }

  #ends(key: string, uid: string | undefined, object: KubeObject | undefined): boolean {
    const known = this.#objects.get(key)
    return known !== undefined && (object === undefined || known.metadata.uid !== uid)
  }

  /** Returns whether the step changes any selected object. */
  #take(version: string, changes: readonly HistoryChange[]): boolean {
    this.#next += 1
    this.#version = version
    return this.#apply(changes)
  }

  #apply(changes: readonly HistoryChange[]): boolean {
    const { matches } = this.#options
    const relevant = changes.flatMap((change): HistoryChange[] => {
      const { key, object } = change
      if (object !== undefined && matches(key, object)) return [change]
      return this.#objects.has(key) ? [{ ...change, object: undefined }] : []
    })
    applyChanges(this.#objects, relevant)
    return relevant.length > 0
  }

  #state(deleted: readonly string[]): ReplayedState {
    return { version: this.#version, objects: this.#objects, deleted }
  }
}
