/**
 * Reports to the observer how many of the objects that existed at the start have been handled once (`objectFound`, `objectHandled`). Created by
 * run/bootstrap.ts only if there is an observer.
 */
import type { ObjectOutcome, Observer } from '../observer.ts'
import type { ObjectFeatures } from './features.ts'
import type { WatchedObject } from './state/watched-object.ts'

export class CatchUp {
  readonly #observer: Observer
  readonly #features: ObjectFeatures
  readonly #awaited = new Set<WatchedObject>()

  constructor(observer: Observer, features: ObjectFeatures) {
    this.#observer = observer
    this.#features = features
  }

  found(object: WatchedObject): void {
    if (this.#awaited.has(object)) return
    this.#awaited.add(object)
    this.#observer.objectFound?.({ resource: object.served.resource })
  }

  /** Called after each run. `outcome` is the outcome of the change handlers; undefined if none matches the object. */
  processed(object: WatchedObject, outcome: ObjectOutcome | undefined): void {
    if (!this.#awaited.has(object)) return
    if (object.isGone) {
      this.#finish(object, 'left')
      return
    }
    const others = this.#features.initialOutcomes(object)
    // A reconciler waits until all children are listed; then the object is processed again.
    if (others.includes('waiting')) return
    const all = [outcome, ...others].filter((one) => one !== undefined && one !== 'waiting')
    this.#finish(object, summarize(all as ObjectOutcome[], object))
  }

  /** Called when the operator pauses for some objects: they are not waited for any more. */
  leave(isPaused: (object: WatchedObject) => boolean): void {
    for (const object of this.#awaited) if (isPaused(object)) this.#finish(object, 'left')
  }

  #finish(object: WatchedObject, outcome: ObjectOutcome): void {
    this.#awaited.delete(object)
    this.#observer.objectHandled?.({ resource: object.served.resource, outcome })
  }
}

/** Outcomes by precedence: the first one that occurs is reported. */
const order: readonly ObjectOutcome[] = [
  'retrying',
  'failed',
  'created',
  'updated',
  'resumed',
  'deleted',
  'reconciled',
  'unchanged',
  'watched',
]

function summarize(outcomes: readonly ObjectOutcome[], { served }: WatchedObject): ObjectOutcome {
  const found = order.find((outcome) => outcomes.includes(outcome))
  return found ?? (served.handlers.event.length > 0 ? 'watched' : 'skipped')
}
