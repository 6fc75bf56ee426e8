/**
 * The streams of all served resources in all namespaces: knows when the existing objects are listed and indexed, and when the server rejects all
 * streams. The streams themselves are those of watching/stream-pool.ts; their events are delivered by deliver.ts.
 */

import { isForbidden } from '../client/api-error.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { Context } from '../objects/context.ts'
import type { ServedResource } from '../objects/state/served-resource.ts'
import { VersionRollback } from '../objects/state/version-rollback.ts'
import { KnownObjects } from '../watching/store.ts'
import { StreamPool, type StreamPoolOptions, type StreamSource } from '../watching/stream-pool.ts'
import { deliver } from './deliver.ts'

export interface ObjectStreamsOptions extends StreamPoolOptions {
  /** All open streams have listed their objects. Called more than once. */
  readonly onReady: () => void
  /** The indices have all objects that existed at the start. Called more than once. */
  readonly onIndexed: () => void
  /** The server rejects all streams; `served` is one of them. */
  readonly onAllForbidden: (error: Error, served: ServedResource) => void
}

/** One stream: of one resource, in one namespace or in the whole cluster. */
interface OpenStream {
  readonly served: ServedResource
  readonly namespace: string | undefined
  readonly known: KnownObjects
  readonly source: StreamSource
}

export class ObjectStreams {
  readonly #context: Context
  readonly #options: ObjectStreamsOptions
  /** By resource and namespace. */
  readonly #open = new Map<string, OpenStream>()
  /** Streams whose objects are not listed yet, and the errors of those that the server rejects. */
  readonly #awaited = new Set<OpenStream>()
  readonly #refused = new Map<OpenStream, Error>()
  /** Streams of the start whose first objects have to be indexed before any handler is called. */
  readonly #indexing = new Set<OpenStream>()
  /** Namespaces in which the operator was paused, and may still be. */
  readonly #excused = new Set<string>()
  readonly #pool: StreamPool
  #hasStarted = false

  constructor(context: Context, options: ObjectStreamsOptions) {
    this.#context = context
    this.#options = options
    this.#pool = new StreamPool(context, options)
  }

  /** All streams of the start are open. */
  started(): void {
    this.#hasStarted = true
    this.#check()
  }

  /** In one namespace, or in the whole cluster. */
  open(served: ServedResource, namespace: string | undefined): void {
    if (!this.#open.has(streamKey(served, namespace))) this.#start(served, namespace, new KnownObjects())
  }

  close(isAmong: (served: ServedResource, namespace: string | undefined) => boolean): void {
    for (const [key, stream] of this.#open) {
      if (!isAmong(stream.served, stream.namespace)) continue
      this.#pool.close(stream.source)
      this.#open.delete(key)
      for (const set of [this.#awaited, this.#refused, this.#indexing]) set.delete(stream)
    }
    this.#check()
  }

  /** The operator is paused there, maybe for long: the start does not wait for the objects of that namespace. */
  excuse(namespace: string): void {
    this.#excused.add(namespace)
    for (const stream of this.#open.values()) {
      if (stream.namespace === namespace) for (const set of [this.#awaited, this.#indexing]) set.delete(stream)
    }
    this.#check()
  }

  /** Another version of the resource is watched from now on; objects that its list does not show were deleted in between. */
  hand(from: ServedResource, to: ServedResource): void {
    const streams = [...this.#open.values()].filter(({ served }) => served === from)
    this.close((served) => served === from)
    for (const { namespace, known } of streams) this.#start(to, namespace, known)
  }

  #start(served: ServedResource, namespace: string | undefined, known: KnownObjects): void {
    const source = createObjectSource(this.#context, served, {
      onListed: () => this.#recordListed(stream),
      onForbidden: (error) => this.#recordForbidden(stream, error),
    })
    const stream: OpenStream = { served, namespace, known, source }
    this.#open.set(streamKey(served, namespace), stream)
    if (!this.#isExcused(namespace)) {
      this.#awaited.add(stream)
      if (served.handlers.index.length > 0 && !this.#hasStarted) this.#indexing.add(stream)
    }
    this.#pool.open(source, namespace, known)
  }

  #isExcused(namespace: string | undefined): boolean {
    return namespace !== undefined && this.#excused.has(namespace) && this.#context.pause.isPausedIn(namespace)
  }

  #recordListed(stream: OpenStream): void {
    this.#awaited.delete(stream)
    this.#refused.delete(stream)
    const { resource, objects } = stream.served
    this.#context.observer?.listed?.({ resource, objects: objects.size })
    this.#check()
    if (!this.#indexing.has(stream)) return
    void this.#context.features.allSettled(stream.served).then(() => {
      if (this.#indexing.delete(stream)) this.#check()
    })
  }

  #recordForbidden(stream: OpenStream, error: Error): void {
    const { served } = stream
    if (this.#indexing.has(stream)) {
      const why = 'No handler is called until these objects can be listed, since they are indexed'
      this.#context.warnOnce(
        served.resource,
        'unindexed',
        `${why}: grant the operator the right to list and watch them`,
      )
    }
    if (this.#awaited.has(stream)) this.#refused.set(stream, error)
    this.#check()
  }

  #check(): void {
    if (!this.#hasStarted) return
    if (this.#indexing.size === 0) this.#options.onIndexed()
    if (this.#awaited.size === 0) this.#options.onReady()
    // An operator that may watch some resources works; one that may watch none is misconfigured.
    const [refused] = this.#refused
    if (refused === undefined || this.#refused.size < this.#open.size) return
    this.#options.onAllForbidden(refused[1], refused[0].served)
  }
}

function streamKey({ resource }: ServedResource, namespace: string | undefined): string {
  return `${formatResource(resource)}/${namespace ?? ''}`
}

interface ObjectSourceEvents {
  readonly onListed: () => void
  readonly onForbidden: (error: Error) => void
}

/** Delivers the events of one stream. After a restored backup, listed objects that look outdated are delivered again. */
function createObjectSource(
  context: Context,
  served: ServedResource,
  { onListed, onForbidden }: ObjectSourceEvents,
): StreamSource {
  let rollback = new VersionRollback(served, context.features)
  return {
    resource: served.resource,
    selectors: served.selectors,
    keepsManagedFields: false,
    onBegin: () => {
      rollback = new VersionRollback(served, context.features)
    },
    take: (event) => {
      if (event.type !== 'listed') {
        rollback.record(event)
        deliver(context, served, event)
        return
      }
      for (const object of rollback.listed(event, context.logger)) {
        deliver(context, served, { type: 'applied', event: null, object })
      }
      onListed()
    },
    onBroken: (_namespace, error) => {
      if (isForbidden(error)) onForbidden(error)
    },
  }
}
