/**
 * The open watch streams of a run, one per source and namespace. Limits how many of them list at the same time, closes them
 * during a pause, and reports their states to the log, the health check and the observer. Used for handled resources
 * (cluster/object-streams.ts) and for the kinds that reconcilers own or watch (reconciling/sources). The source interprets the
 * events.
 */
import { isForbidden, isNotFound } from '../client/api-error.ts'
import type { Session } from '../client/session.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { Observer } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import { Semaphore } from '../util/async/semaphore.ts'
import type { TaskGroup } from '../util/async/task-group.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import type { WatchSelectors } from './label-pushdown.ts'
import type { Pause } from './pause.ts'
import { type ReflectSettings, reflect } from './reflector.ts'
import { KnownObjects } from './store.ts'
import type { ReflectedEvent } from './watch-events.ts'
import { describeScope, type WatchScope, type WatchState } from './watch-observer.ts'

/** A watched resource, in one or several namespaces. The callbacks get the namespace; undefined for the whole cluster. */
export interface StreamSource {
  readonly resource: Resource
  readonly selectors: WatchSelectors
  readonly keepsManagedFields: boolean
  take(event: ReflectedEvent, namespace: string | undefined): void
  /** Called when the stream starts, or starts again after a pause: the existing objects are not listed yet. */
  onBegin?(namespace: string | undefined): void
  /** Called when the watch has failed. It is opened again. */
  onBroken?(namespace: string | undefined, error: Error): void
  /** Called when the stream is closed for good. */
  onClosed?(namespace: string | undefined): void
}

/** Tracks whether the streams are open, for the health check. */
export interface StreamsHealth {
  track(scope: WatchScope): { changed(state: WatchState): void; end(): void }
}

/** The parts of the run that streams need. */
export interface StreamContext {
  readonly session: Session
  readonly clock: Clock
  readonly random: () => number
  readonly settings: { readonly watching: ReflectSettings }
  readonly logger: Logger
  readonly pause: Pause
  readonly observer: Observer | undefined
}

export interface StreamPoolOptions {
  readonly tasks: TaskGroup
  readonly health: StreamsHealth
  /** Called when the server responds that it does not know the resource. */
  readonly onMissing: (resource: Resource) => void
}

interface PooledStream {
  readonly source: StreamSource
  readonly namespace: string | undefined
  readonly known: KnownObjects
  readonly changed: (state: WatchState) => void
}

/** The number of streams that may send their list requests at the same time. There may be thousands of namespaces. */
const maxOpening = 50

export class StreamPool {
  readonly #context: StreamContext
  readonly #options: StreamPoolOptions
  /** By source, and by namespace; undefined for the whole cluster. */
  readonly #open = new Map<StreamSource, Map<string | undefined, AbortController>>()
  readonly #openings = new Semaphore(maxOpening)

  constructor(context: StreamContext, options: StreamPoolOptions) {
    this.#context = context
    this.#options = options
  }

  /**
   * Opens a stream. `known`: the objects of an earlier stream of the same scope, so that objects deleted since then are detected.
   */
  open(source: StreamSource, namespace: string | undefined, known: KnownObjects = new KnownObjects()): void {
    const streams = this.#open.get(source) ?? new Map<string | undefined, AbortController>()
    this.#open.set(source, streams)
    if (streams.has(namespace)) return
    const end = new AbortController()
    streams.set(namespace, end)
    source.onBegin?.(namespace)
    this.#options.tasks.run(async (ending) => {
      ending.addEventListener('abort', () => end.abort(), { once: true, signal: end.signal })
      if (ending.aborted) end.abort()
      const health = this.#options.health.track({ resource: source.resource, namespace })
      const run = (active: AbortSignal) => this.#run({ source, namespace, known, changed: health.changed }, active)
      await this.#context.pause.whileActive(run, end.signal, namespace).finally(() => health.end())
    })
  }

  close(source: StreamSource): void {
    for (const namespace of [...(this.#open.get(source)?.keys() ?? [])]) this.#close(source, namespace)
    this.#open.delete(source)
  }

  closeNamespace(namespace: string): void {
    for (const source of this.#open.keys()) this.#close(source, namespace)
  }

  #close(source: StreamSource, namespace: string | undefined): void {
    const end = this.#open.get(source)?.get(namespace)
    if (end === undefined) return
    end.abort()
    this.#open.get(source)?.delete(namespace)
    source.onClosed?.(namespace)
  }

  async #run(stream: PooledStream, signal: AbortSignal): Promise<void> {
    const { source, namespace, known } = stream
    source.onBegin?.(namespace)
    const opened = await this.#openings.acquire()
    const { session, clock, random, settings, logger } = this.#context
    let wasOpen = false
    const observer = {
      watchStateChanged: (state: WatchState, scope: WatchScope) => {
        if (state.type !== 'listing') opened()
        stream.changed(state)
        this.#report(source, state, { ...scope, wasOpen })
        wasOpen ||= state.type === 'watching'
      },
      watchWarned: (message: string, scope: WatchScope) => logger.warn(`${message} (${describeScope(scope)})`),
      watchReceived: (scope: WatchScope) => this.#context.observer?.streamReceived?.(scope),
    }
    const { resource, selectors, keepsManagedFields } = source
    const common = { session, clock, random, watching: settings.watching, observer, known }
    try {
      if (signal.aborted) return
      const options = { ...common, resource, namespace, selectors, keepsManagedFields }
      await reflect(options, (event) => source.take(event, namespace), signal)
    } finally {
      opened()
      this.#context.observer?.streamEnded?.({ resource, namespace })
    }
  }

  #report(source: StreamSource, state: WatchState, scope: WatchScope & { readonly wasOpen: boolean }): void {
    const { logger, observer } = this.#context
    const { resource, namespace, wasOpen } = scope
    if (state.type === 'watching') {
      logger.debug(`Watching ${describeScope(scope)}.`)
      if (wasOpen) observer?.streamResumed?.({ resource, namespace })
      else observer?.streamOpened?.({ resource, namespace })
    }
    if (state.type !== 'broken') return
    const { delayMs, attempt } = state
    const error = state.error instanceof Error ? state.error : new Error(describeError(state.error))
    observer?.streamFailed?.({ resource, namespace, error, delayMs, attempt })
    source.onBroken?.(namespace, error)
    if (isNotFound(error)) this.#options.onMissing(source.resource)
    const after = `in ${(delayMs / 1000).toFixed(1)} seconds: ${describeError(error)}`
    const message = `The watch-stream of ${describeScope(scope)} has failed and reconnects ${after}`
    // A single failure is normal; a stream that stays broken, or lacks permissions, is not.
    if (attempt > 1 || isForbidden(error)) logger.warn(message)
    else logger.debug(message)
  }
}
