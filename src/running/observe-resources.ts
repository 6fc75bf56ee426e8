/**
 * What the cluster serves, looked at once and then observed: definitions that come, change and go, groups that could not be
 * looked at. Says which resources are to be served whenever that may have changed; orchestrate.ts serves them.
 */
import { describeError } from '../core/handling/outcomes.ts'
import type { Registry } from '../core/handling/registry.ts'
import { canBeCustom } from '../kube/groups.ts'
import { formatGroupVersion } from '../kube/objects.ts'
import type { TaskGroup } from '../util/tasks.ts'
import { Definitions } from './definitions.ts'
import { GroupLooks, type Sight } from './group-looks.ts'
import type { Insights } from './insights.ts'
import { tryAgainAfter } from './observe.ts'
import { isNeeded, observesDefinitions, type Resolved, resolveResources } from './resources.ts'
import type { Runtime } from './runtime.ts'

export interface ObserveResourcesOptions {
  readonly registry: Registry
  readonly insights: Insights
  readonly tasks: TaskGroup
  /** Told each time the cluster has been looked at. */
  readonly onResolved: (resolved: Resolved) => void
}

export class ResourceObserver {
  readonly #runtime: Runtime
  readonly #options: ObserveResourcesOptions
  readonly #looks: GroupLooks
  readonly #definitions: Definitions
  /** What has been said of how things are now; it is said again when it has been otherwise in between. */
  #told: ReadonlySet<string> = new Set()
  /** Whether definitions are watched, or would be if we were allowed to. */
  isObserving = false

  constructor(runtime: Runtime, options: ObserveResourcesOptions) {
    this.#runtime = runtime
    this.#options = options
    const { insights, tasks } = options
    this.#looks = new GroupLooks({ clock: runtime.clock, tasks, look: (group, signal) => this.#lookAt(group, signal) })
    this.#definitions = new Definitions(runtime, {
      onSeen: ({ group, plural }, isChanged) => {
        insights.expect(group, plural)
        if (!isChanged && insights.has(group, plural)) return
        if (insights.concerns(group)) this.#looks.begin(group)
        else insights.forgetGroup(group)
      },
      onGone: ({ group, plural }) => {
        insights.forget(group, plural)
        if (!insights.concerns(group)) return
        this.#resolve()
        this.#looks.begin(group)
      },
    })
  }

  /** Resolves when the cluster has been looked at once; rejects when it cannot be. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#options.insights.refresh(signal)
    this.#resolve()
  }

  /** After that; and when what is there is being watched, which is more urgent. */
  observe(signal: AbortSignal): void {
    const { registry, insights, tasks } = this.#options
    if (!observesDefinitions(registry, insights.resources, this.#runtime.settings)) return
    this.isObserving = true
    tasks.run(() => this.#follow(signal))
  }

  /** The server says that it does not know a resource which it had told of. */
  suspect(group: string): void {
    if (!this.#runtime.settings.scanning.disabled && canBeCustom(group)) this.#looks.retry(group)
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#runtime
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      await this.#definitions.follow(signal)
      if (signal.aborted) return
      if (attempt === 0) {
        logger.warn(
          'Not enough permissions to watch for resources: definitions that come, change or go are noticed late. ' +
            'Grant the operator list and watch on customresourcedefinitions.apiextensions.k8s.io, or set scanning.disabled',
        )
      }
      await clock.sleep(tryAgainAfter(attempt), signal)
      await this.#lookAgain(signal)
    }
  }

  async #lookAgain(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.insights.refresh(signal)
      this.#resolve()
    } catch (error) {
      this.#runtime.logger.debug(`Discovery has failed: ${describeError(error)}`)
    }
  }

  async #lookAt(group: string, signal: AbortSignal): Promise<Sight> {
    const { insights } = this.#options
    try {
      await insights.refreshGroup(group, signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#runtime.logger.debug(`Discovery of ${group} has failed: ${describeError(error)}`)
      return 'failed'
    }
    this.#resolve()
    if (insights.failures.some((one) => one.group === group)) return 'failed'
    return this.#definitions.in(group).every(({ plural }) => insights.has(group, plural)) ? 'settled' : 'waiting'
  }

  #resolve(): void {
    const { registry, insights } = this.#options
    const resolved = resolveResources(registry, insights.resources)
    this.#tell(resolved)
    for (const { group } of insights.failures) if (isNeeded(group, registry, resolved)) this.#looks.retry(group)
    this.#options.onResolved(resolved)
  }

  /** Each thing once, for as long as it is so. */
  #tell({ warnings, unresolved }: Resolved): void {
    const { logger } = this.#runtime
    const told = new Set<string>()
    const isNews = (key: string) => {
      told.add(key)
      return !this.#told.has(key)
    }
    for (const { group, version, error } of this.#options.insights.failures) {
      const name = formatGroupVersion(group, version)
      const words = `The API ${name} does not say what it serves: ${describeError(error)}`
      if (isNews(`failed ${name}`)) logger.warn(words)
    }
    for (const [key, words] of warnings) if (isNews(key)) logger.warn(words)
    const missing = unresolved.filter((selector) => isNews(`unresolved ${selector}`))
    if (missing.length > 0) {
      logger.warn(`Unresolved resources cannot be served (try creating their CRDs): ${missing.join(', ')}`)
    }
    this.#told = told
  }
}
