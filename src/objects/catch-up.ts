/**
 * The objects that existed when the operator started, until each was handled once: tells the observer how far the operator has caught up. Created
 * only if there is an observer.
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

  /** `outcome` is that of the change handlers; undefined if none matches the object. */
  processed(object: WatchedObject, outcome: ObjectOutcome | undefined): void {
    if (!this.#awaited.has(object)) return
    if (object.isGone) {
      this.#finish(object, 'left')
      return
    }
    const others = this.#features.initialOutcomes(object)
    // A reconciler is not called before all children are listed; the object is processed again then.
    if (others.includes('waiting')) return
    const all = [outcome, ...others].filter((one) => one !== undefined && one !== 'waiting')
    this.#finish(object, summarize(all as ObjectOutcome[], object))
  }

  /** The operator pauses for these objects. */
  leave(isPaused: (object: WatchedObject) => boolean): void {
    for (const object of this.#awaited) if (isPaused(object)) this.#finish(object, 'left')
  }

  #finish(object: WatchedObject, outcome: ObjectOutcome): void {
    this.#awaited.delete(object)
    this.#observer.objectHandled?.({ resource: object.served.resource, outcome })
  }
}

/** The first of these that applies. Outcomes of the change handlers that say more than `unchanged` are before `reconciled`. */
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
