/**
 * The state that a feature keeps per watched object, e.g. its daemons. Each feature declares one constant in its folder. The value is stored in a slot of the
 * object: like a WeakMap, without the cost of large WeakMaps for the garbage collector.
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
