/**
 * Which namespaces are served: those given by name as they are, those given by patterns as they come and go. A namespace is
 * served until it is gone, not just marked for that: what is in it has finalizers that somebody has to remove.
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

/** So many are named in a warning. */
const maxNamed = 10

export class NamespaceObserver {
  readonly #context: Context
  readonly #options: NamespaceObserverOptions
  readonly #names = new Set<string>()
  readonly #known = new KnownObjects()
  /** Whether they are watched, or would be if we were allowed to. */
  isObserving = false
  #hasWarned = false

  constructor(context: Context, options: NamespaceObserverOptions) {
    this.#context = context
    this.#options = options
  }

  /** Undefined for all of them at once. */
  get names(): readonly string[] | undefined {
    return this.#options.patterns === undefined ? undefined : [...this.#names]
  }

  /** Where objects will be looked for, before it is known which there are: in the whole cluster, or in these. */
  get scopes(): readonly (string | undefined)[] {
    const { patterns } = this.#options
    return patterns?.every(isExactNamespace) ? patterns.map((name) => name.trim()) : [undefined]
  }

  /** Resolves when those that are there are known, as far as we may know them. */
  async start(signal: AbortSignal): Promise<void> {
    const { patterns = [], tasks } = this.#options
    for (const name of patterns.filter(isExactNamespace)) this.#add(name.trim())
    const open = patterns.filter((pattern) => !isExactNamespace(pattern))
    if (open.length === 0) return
    if (this.#context.settings.scanning.disabled) {
      this.#context.logger.warn(
        `Namespaces are not looked for, since scanning.disabled is set: nothing is served for ${open.join(' and ')}`,
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

  /** Resolves when the signal is aborted, or when we may not see them. */
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
      `${what}: of those given by patterns, none comes or goes (served: ${names}): ${describeError(error)}`,
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
