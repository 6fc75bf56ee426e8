/**
 * The streams of all resources in all namespaces: whoever opens or ends one does it here. Knows when all of them have brought
 * what is there, and when the server refuses them all. What they bring goes where serve.ts sends it.
 */
import { KnownObjects } from '../core/watching/known-objects.ts'
import type { WatchState } from '../core/watching/observer.ts'
import { formatResource } from '../kube/selectors.ts'
import type { TaskGroup } from '../util/tasks.ts'
import { Turns } from '../util/turns.ts'
import type { Health } from './health.ts'
import { untilAllIndexed } from './indexing.ts'
import type { Served } from './memories.ts'
import type { Runtime } from './runtime.ts'
import { runStream, type Stream } from './serve.ts'

export interface StreamsOptions {
  readonly tasks: TaskGroup
  readonly health: Health
  /** Called when all that are open have brought what is there; more than once. */
  readonly onReady: () => void
  /** Called when all objects that were there at the start and are indexed are in the indices; more than once. */
  readonly onIndexed: () => void
  /** The server refuses all of them, such as this one. */
  readonly onAllForbidden: (error: Error, served: Served) => void
  /** The server does not know the resource. */
  readonly onMissing: (served: Served) => void
}

interface OpenStream {
  readonly served: Served
  readonly namespace: string | undefined
  readonly known: KnownObjects
  readonly end: AbortController
}

/** So many ask for what is there at once: thousands of namespaces at the same moment would be too much for any server. */
const mostOpening = 50

export class Streams {
  readonly #runtime: Runtime
  readonly #options: StreamsOptions
  /** By resource and namespace, in text. */
  readonly #open = new Map<string, OpenStream>()
  /** Those whose objects are still to come, and why the server refuses some of them. */
  readonly #awaited = new Set<OpenStream>()
  readonly #refused = new Map<OpenStream, Error>()
  /** Those whose first objects have to be in the indices before any handler is called; only of those opened at the start. */
  readonly #indexing = new Set<OpenStream>()
  /** Namespaces in which the operator stood back, and may do so still. */
  readonly #excused = new Set<string>()
  readonly #openings = new Turns(mostOpening)
  #hasStarted = false

  constructor(runtime: Runtime, options: StreamsOptions) {
    this.#runtime = runtime
    this.#options = options
  }

  /** All that are there from the start have been opened. */
  started(): void {
    this.#hasStarted = true
    this.#check()
  }

  /** In one namespace, or in the whole cluster. */
  open(served: Served, namespace: string | undefined): void {
    if (!this.#open.has(keyOf(served, namespace))) this.#start(served, namespace, new KnownObjects())
  }

  close(isAmong: (served: Served, namespace: string | undefined) => boolean): void {
    for (const [key, stream] of this.#open) {
      if (!isAmong(stream.served, stream.namespace)) continue
      stream.end.abort()
      this.#open.delete(key)
      for (const set of [this.#awaited, this.#refused, this.#indexing]) set.delete(stream)
    }
    this.#check()
  }

  /** The operator stands back there, maybe for long: nothing waits for the objects of that namespace. */
  excuse(namespace: string): void {
    this.#excused.add(namespace)
    for (const stream of this.#open.values()) {
      if (stream.namespace === namespace) for (const set of [this.#awaited, this.#indexing]) set.delete(stream)
    }
    this.#check()
  }

  /** The objects come by another resource from now on; those that are not among them then have gone in between. */
  hand(from: Served, to: Served): void {
    const streams = [...this.#open.values()].filter(({ served }) => served === from)
    this.close((served) => served === from)
    for (const { namespace, known } of streams) this.#start(to, namespace, known)
  }

  #start(served: Served, namespace: string | undefined, known: KnownObjects): void {
    const end = new AbortController()
    const stream: OpenStream = { served, namespace, known, end }
    this.#open.set(keyOf(served, namespace), stream)
    if (!this.#isExcused(namespace)) {
      this.#awaited.add(stream)
      if (served.handlers.index.length > 0 && !this.#hasStarted) this.#indexing.add(stream)
    }
    this.#options.tasks.run(async (ending) => {
      ending.addEventListener('abort', () => end.abort(), { once: true, signal: end.signal })
      if (ending.aborted) end.abort()
      const pulse = this.#options.health.follow({ resource: served.resource, namespace })
      const run = (active: AbortSignal) => this.#run(stream, pulse.changed, active)
      await this.#runtime.pause.whileActive(run, end.signal, namespace).finally(() => pulse.end())
    })
  }

  #isExcused(namespace: string | undefined): boolean {
    return namespace !== undefined && this.#excused.has(namespace) && this.#runtime.pause.isPausedIn(namespace)
  }

  async #run(stream: OpenStream, changed: (state: WatchState) => void, signal: AbortSignal): Promise<void> {
    const opened = await this.#openings.take()
    try {
      if (!signal.aborted) await runStream(this.#runtime, this.#follow(stream, changed, opened), signal)
    } finally {
      opened()
    }
  }

  #follow(stream: OpenStream, changed: (state: WatchState) => void, opened: () => void): Stream {
    const { served, namespace, known } = stream
    return {
      served,
      namespace,
      known,
      onListed: () => this.#noteListed(stream),
      onForbidden: (error) => this.#noteForbidden(stream, error),
      onMissing: () => this.#options.onMissing(served),
      onState: (state) => {
        if (state.type !== 'listing') opened()
        changed(state)
      },
    }
  }

  #noteListed(stream: OpenStream): void {
    this.#awaited.delete(stream)
    this.#refused.delete(stream)
    const { resource, memories } = stream.served
    this.#runtime.observer?.listed?.(resource, memories.size)
    this.#check()
    if (!this.#indexing.has(stream)) return
    void untilAllIndexed(stream.served).then(() => {
      if (this.#indexing.delete(stream)) this.#check()
    })
  }

  #noteForbidden(stream: OpenStream, error: Error): void {
    const { served } = stream
    if (this.#indexing.has(stream)) {
      const why = 'No handler is called until these objects can be listed, since they are indexed'
      this.#runtime.warnOnce(
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
    // One resource that we may not see is a pity; all of them are a mistake somebody has to put right.
    const [refused] = this.#refused
    if (refused === undefined || this.#refused.size < this.#open.size) return
    this.#options.onAllForbidden(refused[1], refused[0].served)
  }
}

function keyOf({ resource }: Served, namespace: string | undefined): string {
  return `${formatResource(resource)}/${namespace ?? ''}`
}
