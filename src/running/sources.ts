/**
 * Streams of what is watched for the sake of other objects: children, and whatever else reconcilers depend on. One for each
 * resource and namespace, as streams.ts has them for the objects themselves; what they bring goes where relations.ts says.
 */
import { isNotFound } from '../client/api-error.ts'
import { describeError } from '../core/handling/outcomes.ts'
import type { ReflectedEvent } from '../core/watching/events.ts'
import { KnownObjects } from '../core/watching/known-objects.ts'
import type { WatchScope, WatchState } from '../core/watching/observer.ts'
import { reflect } from '../core/watching/reflect.ts'
import type { WatchSelectors } from '../core/watching/scope.ts'
import type { Resource } from '../kube/resources.ts'
import type { TaskGroup } from '../util/tasks.ts'
import { Turns } from '../util/turns.ts'
import type { Health } from './health.ts'
import type { Runtime } from './runtime.ts'
import { describeScope } from './serve.ts'

/** One resource that is watched for others. */
export interface Source {
  readonly resource: Resource
  readonly selectors: WatchSelectors
  /** Who owns which fields is of interest. */
  readonly keepsManagedFields: boolean
  take(event: ReflectedEvent, namespace: string | undefined): void
  /** It is not known yet what is there. */
  onBegin(namespace: string | undefined): void
  /** It cannot be known, for now. */
  onBroken(namespace: string | undefined, why: string): void
  /** Nobody looks there any more. */
  onClosed(namespace: string | undefined): void
}

export interface SourcesOptions {
  readonly tasks: TaskGroup
  readonly health: Health
  /** The server does not know the resource. */
  readonly onMissing: (resource: Resource) => void
}

/** So many ask for what is there at once. */
const mostOpening = 50

export class Sources {
  readonly #runtime: Runtime
  readonly #options: SourcesOptions
  /** By source, and by namespace; undefined for the whole cluster. */
  readonly #open = new Map<Source, Map<string | undefined, AbortController>>()
  readonly #openings = new Turns(mostOpening)

  constructor(runtime: Runtime, options: SourcesOptions) {
    this.#runtime = runtime
    this.#options = options
  }

  open(source: Source, namespace: string | undefined): void {
    const streams = this.#open.get(source) ?? new Map<string | undefined, AbortController>()
    this.#open.set(source, streams)
    if (streams.has(namespace)) return
    const end = new AbortController()
    streams.set(namespace, end)
    source.onBegin(namespace)
    const known = new KnownObjects()
    this.#options.tasks.run(async (ending) => {
      ending.addEventListener('abort', () => end.abort(), { once: true, signal: end.signal })
      if (ending.aborted) end.abort()
      const pulse = this.#options.health.follow({ resource: source.resource, namespace })
      const run = (active: AbortSignal) => this.#run({ source, namespace, known, changed: pulse.changed }, active)
      await this.#runtime.pause.whileActive(run, end.signal, namespace).finally(() => pulse.end())
    })
  }

  close(source: Source): void {
    for (const namespace of [...(this.#open.get(source)?.keys() ?? [])]) this.#close(source, namespace)
    this.#open.delete(source)
  }

  closeNamespace(namespace: string): void {
    for (const source of this.#open.keys()) this.#close(source, namespace)
  }

  #close(source: Source, namespace: string | undefined): void {
    const end = this.#open.get(source)?.get(namespace)
    if (end === undefined) return
    end.abort()
    this.#open.get(source)?.delete(namespace)
    source.onClosed(namespace)
  }

  async #run({ source, namespace, known, changed }: Stream, signal: AbortSignal): Promise<void> {
    source.onBegin(namespace)
    const opened = await this.#openings.take()
    const observer = {
      watchStateChanged: (state: WatchState, scope: WatchScope) => {
        if (state.type !== 'listing') opened()
        changed(state)
        this.#report(source, state, scope)
      },
      watchWarned: (message: string, scope: WatchScope) =>
        this.#runtime.logger.warn(`${message} (${describeScope(scope)})`),
    }
    const { session, clock, random, settings } = this.#runtime
    const { resource, selectors, keepsManagedFields } = source
    const common = { session, clock, random, watching: settings.watching, observer, known }
    try {
      if (signal.aborted) return
      const options = { ...common, resource, namespace, selectors, keepsManagedFields }
      await reflect(options, (event) => source.take(event, namespace), signal)
    } finally {
      opened()
    }
  }

  #report(source: Source, state: WatchState, scope: WatchScope): void {
    const { logger } = this.#runtime
    if (state.type === 'watching') logger.debug(`Watching ${describeScope(scope)}.`)
    if (state.type !== 'broken') return
    const { error, delayMs, attempt } = state
    if (isNotFound(error)) this.#options.onMissing(source.resource)
    source.onBroken(scope.namespace, describeError(error))
    const after = `in ${(delayMs / 1000).toFixed(1)} seconds: ${describeError(error)}`
    const words = `The watch-stream of ${describeScope(scope)} has failed and is taken up again ${after}`
    if (attempt > 1) logger.warn(words)
    else logger.debug(words)
  }
}

interface Stream {
  readonly source: Source
  readonly namespace: string | undefined
  readonly known: KnownObjects
  readonly changed: (state: WatchState) => void
}
