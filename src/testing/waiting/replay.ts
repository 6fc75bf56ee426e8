/** Walks through the states of one object or of a list, from a version on: what a wait looks at. */
import type { KubeObject } from '../../kube/objects.ts'
import { applyChanges, type HistoryChange, isUpTo, type ResourceHistory } from './resource-history.ts'

export interface ReplayOptions {
  readonly history: ResourceHistory
  /** The first state is the one of this version; undefined for the first that is known. */
  readonly from: string | undefined
  /** Which objects the wait is about. An object that no longer matches leaves the list. */
  readonly matches: (key: string, object: KubeObject) => boolean
}

/** A state, as of a version: the objects by their keys. Valid until the next one is asked for. */
export interface ReplayedState {
  readonly version: string | undefined
  readonly objects: ReadonlyMap<string, KubeObject>
  /** Objects that were deleted to reach this state, by their keys; also where another one has the name since. */
  readonly deleted: readonly string[]
}

export class Replay {
  readonly #options: ReplayOptions
  readonly #objects = new Map<string, KubeObject>()
  /** The number of the next step. */
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

  /** The next state; undefined where it has not happened yet. The first one is the state at the beginning. */
  next(): ReplayedState | undefined {
    if (!this.#hasBegun) {
      this.#hasBegun = true
      return this.#state([])
    }
    const { history } = this.#options
    // Steps that were dropped meanwhile are in the starting state of the history.
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

  /** Whether anything has changed for this wait. */
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
