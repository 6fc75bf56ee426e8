/**
 * Determines the served namespaces: names are served as they are; for patterns, namespaces are watched. A namespace that is being
 * deleted is served until it is gone, because its objects may have finalizers that the operator must remove.
 */
import { isForbidden } from '../client/api-error.ts'
import { isExactNamespace, matchesNamespace, type NamespacePattern } from '../kube/namespaces.ts'
import { namespacesResource } from '../kube/resources/well-known.ts'
import type { Context } from '../objects/context.ts'
import type { TaskGroup } from '../util/async/task-group.ts'
import { describeError } from '../util/log/describe-error.ts'
import { KnownObjects } from '../watching/store.ts'
import type { ReflectedEvent } from '../watching/watch-events.ts'
import type { WatchState } from '../watching/watch-observer.ts'
import { retryAfter, watchMetadata } from './metadata-watch.ts'

export interface NamespaceObserverOptions {
  /** Undefined for the whole cluster. */
  readonly patterns: readonly NamespacePattern[] | undefined
  readonly tasks: TaskGroup
  readonly onAdded: (name: string) => void
  readonly onGone: (name: string) => void
}

/** The maximum number of namespaces listed in a warning. */
const maxNamed = 10

export class NamespaceObserver {
  readonly #context: Context
  readonly #options: NamespaceObserverOptions
  readonly #names = new Set<string>()
  readonly #known = new KnownObjects()
  /** Whether namespaces are watched, or would be with the permission to do so. */
  isObserving = false
  #hasWarned = false

  constructor(context: Context, options: NamespaceObserverOptions) {
    this.#context = context
    this.#options = options
  }

  /** The served namespaces; undefined for the whole cluster. */
  get names(): readonly string[] | undefined {
    return this.#options.patterns === undefined ? undefined : [...this.#names]
  }

  /**
   * The namespaces in which objects will be watched, before the existing namespaces are known. `undefined` stands for the whole
   * cluster.
   */
  get scopes(): readonly (string | undefined)[] {
    const { patterns } = this.#options
    return patterns?.every(isExactNamespace) ? patterns.map((name) => name.trim()) : [undefined]
  }

  /** Resolves when the existing namespaces are known, or cannot be listed. */
  async start(signal: AbortSignal): Promise<void> {
    const { patterns = [], tasks } = this.#options
    for (const name of patterns.filter(isExactNamespace)) this.#add(name.trim())
    const open = patterns.filter((pattern) => !isExactNamespace(pattern))
    if (open.length === 0) return
    if (this.#context.settings.scanning.disabled) {
      this.#context.logger.warn(
        `The operator does not search for namespaces, since scanning.disabled is set: it serves nothing for ${open.join(' and ')}`,
      )
      return
    }
    this.isObserving = true
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      tasks.run(() => this.#observe(resolve, signal))
    })
  }

  async #observe(onListed: () => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#context
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      await this.#follow(onListed, signal)
      if (signal.aborted) return
      onListed()
      await clock.sleep(retryAfter(attempt), signal)
    }
  }

  /** Resolves when the signal is aborted, or when the operator lacks the permission to watch namespaces. */
  #follow(onListed: () => void, signal: AbortSignal): Promise<void> {
    const take = (event: ReflectedEvent) => {
      if (event.type === 'listed') onListed()
      else this.#take(event)
    }
    const onState = (state: WatchState) => {
      if (state.type === 'watching') this.#hasWarned = false
      if (state.type !== 'broken') return
      if (isForbidden(state.error) || state.attempt > 1) this.#warn(state.error)
      onListed()
    }
    return watchMetadata(this.#context, { resource: namespacesResource, known: this.#known, take, onState }, signal)
  }

  #take({ type, object }: Exclude<ReflectedEvent, { type: 'listed' }>): void {
    const { patterns = [] } = this.#options
    const { name = '' } = object.metadata
    if (type === 'deleted') this.#drop(name)
    else if (patterns.some((pattern) => matchesNamespace(pattern, name))) this.#add(name)
  }

  #warn(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const { size } = this.#names
    const names = size > maxNamed ? String(size) : [...this.#names].map((name) => `"${name}"`).join(', ') || 'none'
    const what = isForbidden(error)
      ? 'Not enough permissions to list namespaces'
      : 'Namespaces cannot be watched for now'
    this.#context.logger.warn(
      `${what}: new and deleted namespaces are not noticed (served: ${names}): ${describeError(error)}`,
    )
  }

  #add(name: string): void {
    if (this.#names.has(name)) return
    this.#names.add(name)
    this.#options.onAdded(name)
  }

  #drop(name: string): void {
    if (this.#names.delete(name)) this.#options.onGone(name)
  }
}
