/**
 * What features (daemons, indexing, reconciling) do in the life of one object. The worker knows features only by this interface; run/bootstrap.ts
 * registers them. Features do not know each other.
 */
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ObjectOutcome } from '../observer.ts'
import type { Logger } from '../util/log/log.ts'
import type { CauseView } from './cause-view.ts'
import type { StateSource } from './state/observed-state.ts'
import type { ServedResource } from './state/served-resource.ts'
import type { WatchedObject } from './state/watched-object.ts'

/** Why an object is not handled any more: it is deleted, or no handler is for it. */
export type ReleaseReason = 'resource-deleted' | 'filters-mismatch'

/** What a feature decided about an object. Features add their own fields for `tend`. */
export interface FeatureDecision {
  /** The finalizer belongs on the object. */
  readonly needsFinalizer: boolean
}

/** All members are optional. */
export interface ObjectFeature<D extends FeatureDecision = FeatureDecision> {
  /** A state came: from the watch before it is queued, or from a response. Synchronous. */
  observed?(object: WatchedObject, body: KubeObject, from: StateSource): void
  /** The watch reports the deletion of the object, before the worker handles it. Synchronous. */
  deletionReported?(object: WatchedObject): void
  /** Work that the worker waits for before it decides, e.g. the indexing of the states so far. */
  settled?(object: WatchedObject): Promise<void> | undefined
  /** Decides without effects what the feature needs for this state. */
  decide?(object: WatchedObject, cause: CauseView): D
  /** Executes the decision, e.g. starts and stops daemons. */
  tend?(object: WatchedObject, cause: CauseView, decision: D): Promise<void>
  /** Whether the finalizer must stay for now. Without a cause: whether calls of the feature are still running. */
  holdsFinalizer?(object: WatchedObject, cause?: CauseView): boolean
  /** Called after the change handlers, in the worker of the object. */
  afterChanges?(object: WatchedObject, logger: Logger): Promise<void>
  /** Adds to the patch that removes the finalizer: the records that the feature keeps on the object. */
  purge?(object: WatchedObject, merge: JsonObject): void
  /** The object is not handled any more. */
  released?(object: WatchedObject, reason: ReleaseReason): void
  /** The object is forgotten, or only its older states in another version of the resource are. */
  forgotten?(object: WatchedObject): void
  /** Whether something of the feature still runs for the object, so that it cannot be forgotten yet. */
  isActive?(object: WatchedObject): boolean
  /** The operator pauses for these objects. */
  paused?(isPaused: (object: WatchedObject) => boolean): void
  /** The watch shows the object again after a pause; `isChanged`: another operator may have changed it. */
  resumed?(object: WatchedObject, isChanged: boolean): void
  /** Versions of the object's states are not comparable with new ones any more. */
  versionsForgotten?(object: WatchedObject): void
  /** The version of the last state that the feature has seen, where the object's own state has none. */
  versionOf?(object: WatchedObject): string | undefined
  /** How far the feature is with an object that existed at the start; undefined if it has no part in it. */
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

  /** The same for all objects of a resource. */
  async allSettled({ objects }: ServedResource): Promise<void> {
    await Promise.all(Array.from(objects.values(), (object) => this.settled(object)))
  }

  /** One decision per feature that decides, in the order of `tend`. */
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
