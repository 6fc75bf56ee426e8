/**
 * State that a feature keeps for each watched object, e.g. its daemons. One constant per feature, declared in the feature's folder. The value
 * is kept in a slot of the object and goes with it: like a WeakMap, without the cost that large WeakMaps have for the garbage collector.
 */
import type { WatchedObject } from './watched-object.ts'

let slots = 0

export class FeatureState<T> {
  readonly #slot = slots++

  get(object: WatchedObject): T | undefined {
    return object.featureSlots[this.#slot] as T | undefined
  }

  set(object: WatchedObject, value: T): T {
    object.featureSlots[this.#slot] = value
    return value
  }
}
