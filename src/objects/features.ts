/**
 * The hooks of features (daemons, indexing, reconciling) in the life of one object. The worker uses features only through this interface; run/bootstrap.ts
 * registers them. Features do not import each other.
 */
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ObjectOutcome } from '../observer.ts'
import type { Logger } from '../util/log/log.ts'
import type { CauseView } from './cause-view.ts'
import type { StateSource } from './state/observed-state.ts'
import type { ServedResource } from './state/served-resource.ts'
import type { WatchedObject } from './state/watched-object.ts'

/** Why an object is not handled any more: it is deleted, or it does not match any handler. */
export type ReleaseReason = 'resource-deleted' | 'filters-mismatch'

/** The decision of a feature about one state of an object. Features add their own fields, which `tend` executes. */
export interface FeatureDecision {
  /** Whether the feature needs the operator's finalizer on the object. */
  readonly needsFinalizer: boolean
}

/** One feature. All members are optional. */
export interface ObjectFeature<D extends FeatureDecision = FeatureDecision> {
  /** Called with every new state: from the watch before it is queued, or from a response. Synchronous. */
  observed?(object: WatchedObject, body: KubeObject, from: StateSource): void
  /** Called when the watch reports the deletion of the object, before the worker handles it. Synchronous. */
  deletionReported?(object: WatchedObject): void
  /** The worker waits for this promise before it decides, e.g. for the indexing of the states so far. */
  settled?(object: WatchedObject): Promise<void> | undefined
  /** Decides what the feature does for this state. Without side effects. */
  decide?(object: WatchedObject, cause: CauseView): D
  /** Executes the decision, e.g. starts and stops daemons. */
  tend?(object: WatchedObject, cause: CauseView, decision: D): Promise<void>
  /** Whether the finalizer must stay for now. Without a cause: whether calls of the feature are still running. */
  holdsFinalizer?(object: WatchedObject, cause?: CauseView): boolean
  /** Called after the change handlers, in the worker of the object. */
  afterChanges?(object: WatchedObject, logger: Logger): Promise<void>
  /** Adds the removal of the feature's records on the object to the patch that removes the finalizer. */
  purge?(object: WatchedObject, merge: JsonObject): void
  /** Called when a user asks that calls which wait for their next attempt after an error are made now. */
  hastened?(object: WatchedObject): void
  /** Called when the object is not handled any more. */
  released?(object: WatchedObject, reason: ReleaseReason): void
  /**
   * Called when the object is dropped from memory, becomes too large, or switches to another version of its resource: the feature drops everything about its
   * former states.
   */
  forgotten?(object: WatchedObject): void
  /** Whether a call of the feature still runs for the object, so that the object cannot be dropped from memory yet. */
  isActive?(object: WatchedObject): boolean
  /** Called when the operator pauses for some objects. */
  paused?(isPaused: (object: WatchedObject) => boolean): void
  /** Called when the watch delivers the object after a pause. `isChanged`: another operator may have changed it. */
  resumed?(object: WatchedObject, isChanged: boolean): void
  /** Called when new resourceVersions are not comparable with those of known states, e.g. after etcd was restored from a backup. */
  versionsForgotten?(object: WatchedObject): void
  /** The resourceVersion of the last state that the feature has seen. Used if the object's own state has none. */
  versionOf?(object: WatchedObject): string | undefined
  /** The outcome of the feature for an object that existed when the operator started; undefined if the feature does not handle it. */
  initialOutcome?(object: WatchedObject): ObjectOutcome | 'waiting' | undefined
}

/** All features of a run, in the order of registration. */
export class ObjectFeatures {
  readonly #all: ObjectFeature[] = []

  add<D extends FeatureDecision>(feature: ObjectFeature<D>): void {
    this.#all.push(feature as ObjectFeature)
  }

  observed(object: WatchedObject, body: KubeObject, from: StateSource): void {
    for (const feature of this.#all) feature.observed?.(object, body, from)
  }

  deletionReported(object: WatchedObject): void {
    for (const feature of this.#all) feature.deletionReported?.(object)
  }

  async settled(object: WatchedObject): Promise<void> {
    for (const feature of this.#all) {
      const settled = feature.settled?.(object)
      if (settled !== undefined) await settled
    }
  }

  /** Waits for `settled` of all objects of a resource. */
  async allSettled({ objects }: ServedResource): Promise<void> {
    await Promise.all(Array.from(objects.values(), (object) => this.settled(object)))
  }

  /** One decision per feature, in the order of registration; undefined for a feature without `decide`. */
  decide(object: WatchedObject, cause: CauseView): readonly (FeatureDecision | undefined)[] {
    return this.#all.map((feature) => feature.decide?.(object, cause))
  }

  async tend(
    object: WatchedObject,
    cause: CauseView,
    decisions: readonly (FeatureDecision | undefined)[],
  ): Promise<void> {
    for (const [index, decision] of decisions.entries()) {
      if (decision !== undefined) await this.#all[index]!.tend?.(object, cause, decision)
    }
  }

  holdsFinalizer(object: WatchedObject, cause?: CauseView): boolean {
    return this.#all.some((feature) => feature.holdsFinalizer?.(object, cause) === true)
  }

  async afterChanges(object: WatchedObject, logger: Logger): Promise<void> {
    for (const feature of this.#all) await feature.afterChanges?.(object, logger)
  }

  purge(object: WatchedObject, merge: JsonObject): void {
    for (const feature of this.#all) feature.purge?.(object, merge)
  }

  hastened(object: WatchedObject): void {
    for (const feature of this.#all) feature.hastened?.(object)
  }

  released(object: WatchedObject, reason: ReleaseReason): void {
    for (const feature of this.#all) feature.released?.(object, reason)
  }

  forgotten(object: WatchedObject): void {
    for (const feature of this.#all) feature.forgotten?.(object)
  }

  isActive(object: WatchedObject): boolean {
    return this.#all.some((feature) => feature.isActive?.(object) === true)
  }

  paused(isPaused: (object: WatchedObject) => boolean): void {
    for (const feature of this.#all) feature.paused?.(isPaused)
  }

  resumed(object: WatchedObject, isChanged: boolean): void {
    for (const feature of this.#all) feature.resumed?.(object, isChanged)
  }

  versionsForgotten(object: WatchedObject): void {
    for (const feature of this.#all) feature.versionsForgotten?.(object)
  }

  versionOf(object: WatchedObject): string | undefined {
    for (const feature of this.#all) {
      const version = feature.versionOf?.(object)
      if (version !== undefined) return version
    }
    return undefined
  }

  initialOutcomes(object: WatchedObject): ReadonlyArray<ObjectOutcome | 'waiting'> {
    return this.#all.flatMap((feature) => feature.initialOutcome?.(object) ?? [])
  }
}
