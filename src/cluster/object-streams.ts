/**
 * The watch streams of all served resources in all namespaces. Reports when the existing objects are listed and indexed, and when
 * the server rejects all streams. The streams are opened by watching/stream-pool.ts; their events are delivered by deliver.ts.
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
  /** Called when all open streams have listed their objects; may be called more than once. */
  readonly onReady: () => void
  /** Called when the indices contain all objects that existed at the start; may be called more than once. */
  readonly onIndexed: () => void
  /** Called when the server rejects all streams; `served` is one of them. */
  readonly onAllForbidden: (error: Error, served: ServedResource) => void
}

/** The stream of one resource, in one namespace or in the whole cluster. */
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
  /** Streams whose objects are not listed yet. */
  readonly #awaited = new Set<OpenStream>()
  /** The errors of streams that the server rejects for lack of permissions. */
  readonly #forbidden = new Map<OpenStream, Error>()
  /** Streams of the start whose objects must be indexed before any handler is called. */
  readonly #indexing = new Set<OpenStream>()
  /** Namespaces that were paused during the start, and may still be. The start does not wait for them. */
  readonly #notAwaited = new Set<string>()
  readonly #pool: StreamPool
  #hasStarted = false

  constructor(context: Context, options: ObjectStreamsOptions) {
    this.#context = context
    this.#options = options
    this.#pool = new StreamPool(context, options)
  }

  /** Called when all streams of the start are open. */
  started(): void {
    this.#hasStarted = true
    this.#check()
  }

  /** Opens the stream of a resource in one namespace, or in the whole cluster (undefined). */
  open(served: ServedResource, namespace: string | undefined): void {
    if (!this.#open.has(streamKey(served, namespace))) this.#start(served, namespace, new KnownObjects())
  }

  close(isAmong: (served: ServedResource, namespace: string | undefined) => boolean): void {
    for (const [key, stream] of this.#open) {
      if (!isAmong(stream.served, stream.namespace)) continue
      this.#pool.close(stream.source)
      this.#open.delete(key)
      for (const set of [this.#awaited, this.#forbidden, this.#indexing]) set.delete(stream)
    }
    this.#check()
  }

  /** Called when the operator is paused in a namespace, maybe for long: the start does not wait for its objects. */
  stopAwaiting(namespace: string): void {
    this.#notAwaited.add(namespace)
    for (const stream of this.#open.values()) {
      if (stream.namespace === namespace) for (const set of [this.#awaited, this.#indexing]) set.delete(stream)
    }
    this.#check()
  }

  /** Watches another version of the resource from now on. Objects that the new list does not contain were deleted in between. */
  switchVersion(from: ServedResource, to: ServedResource): void {
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
    if (!this.#isNotAwaited(namespace)) {
      this.#awaited.add(stream)
      if (served.handlers.index.length > 0 && !this.#hasStarted) this.#indexing.add(stream)
    }
    this.#pool.open(source, namespace, known)
  }

  #isNotAwaited(namespace: string | undefined): boolean {
    return namespace !== undefined && this.#notAwaited.has(namespace) && this.#context.pause.isPausedIn(namespace)
  }

  #recordListed(stream: OpenStream): void {
    this.#awaited.delete(stream)
    this.#forbidden.delete(stream)
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
      this.#context.warnOnce(served.resource, 'unindexed', `${why}: allow the operator to list and watch them`)
    }
    if (this.#awaited.has(stream)) this.#forbidden.set(stream, error)
    this.#check()
  }

  #check(): void {
    if (!this.#hasStarted) return
    if (this.#indexing.size === 0) this.#options.onIndexed()
    if (this.#awaited.size === 0) this.#options.onReady()
    // An operator that can watch some of its resources works. One that can watch none is misconfigured.
    const [forbidden] = this.#forbidden
    if (forbidden === undefined || this.#forbidden.size < this.#open.size) return
    this.#options.onAllForbidden(forbidden[1], forbidden[0].served)
  }
}

function streamKey({ resource }: ServedResource, namespace: string | undefined): string {
  return `${formatResource(resource)}/${namespace ?? ''}`
}

interface ObjectSourceEvents {
  readonly onListed: () => void
  readonly onForbidden: (error: Error) => void
}

/**
 * Delivers the events of one stream. After a restored backup, listed objects with lower versions than before are delivered again.
 */
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
