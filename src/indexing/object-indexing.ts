/**
 * Connects the indexer with the object worker: indexes every observed state of an object before it is queued, and removes deleted
 * objects from the indices. The worker waits until the states so far are indexed.
 */
import { objectArgs } from '../handlers/args/object-args.ts'
import type { KubeObject } from '../kube/objects.ts'
import { argsSourceOf, type Context, objectLogger, observedObject } from '../objects/context.ts'
import type { ObjectFeature } from '../objects/features.ts'
import { FeatureState } from '../objects/state/feature-state.ts'
import type { StateSource } from '../objects/state/observed-state.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { lazy } from '../util/lazy.ts'
import { createIndexedObject, type IndexedObject, type Indexer, isNewTo } from './indexer.ts'

const indexedOf = new FeatureState<IndexedObject>()

export class ObjectIndexing implements ObjectFeature {
  readonly #context: Context
  readonly #indexer: Indexer

  constructor(context: Context, indexer: Indexer) {
    this.#context = context
    this.#indexer = indexer
  }

  /** A write response that arrives after the deletion of the object does not add it to the indices again. */
  observed(object: WatchedObject, body: KubeObject, from: StateSource): void {
    if (object.served.handlers.index.length === 0) return
    const indexed =
      indexedOf.get(object) ?? (from === 'watch' ? indexedOf.set(object, createIndexedObject()) : undefined)
    if (indexed === undefined) return
    if (from === 'watch') indexed.isGone = false
    if (!indexed.isGone) this.#index(object, indexed, body)
  }

  deletionReported(object: WatchedObject): void {
    this.forgotten(object)
  }

  forgotten(object: WatchedObject): void {
    const indexed = indexedOf.get(object)
    if (indexed !== undefined) this.#indexer.discard(indexed, object.served.handlers.index)
  }

  settled(object: WatchedObject): Promise<void> | undefined {
    return indexedOf.get(object)?.done
  }

  versionsForgotten(object: WatchedObject): void {
    const indexed = indexedOf.get(object)
    if (indexed !== undefined) indexed.version = undefined
  }

  versionOf(object: WatchedObject): string | undefined {
    return indexedOf.get(object)?.version
  }

  #index(object: WatchedObject, indexed: IndexedObject, body: KubeObject): void {
    if (!isNewTo(indexed, body)) return
    const context = this.#context
    const { served } = object
    if (context.largeObjects.isTooLarge(body)) {
      this.forgotten(object)
      return
    }
    const logger = objectLogger(context, body, { isLocal: true })
    this.#indexer.indexState(indexed, {
      resource: served.resource,
      body,
      handlers: served.handlers.index,
      args: lazy(() => objectArgs(Object.assign(argsSourceOf(context, object, logger), { body }))),
      logger,
      watch: context.callWatchOf(object),
      observer: context.observer,
      observed: () => observedObject(object),
      reserve: () => context.largeObjects.reserveIndexing(body),
    })
  }
}
