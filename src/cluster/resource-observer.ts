/**
 * What the cluster serves, looked at once and then observed: definitions that come, change and go, groups that could not be
 * looked at. Says which resources are to be served whenever that may have changed; orchestrator.ts serves them.
 */

import type { DiscoveryCache } from '../client/discovery/discovery-cache.ts'
import type { Registry } from '../handlers/registry.ts'
import { formatGroupVersion } from '../kube/objects.ts'
import { canHaveCustomResources } from '../kube/resources/well-known.ts'
import type { Context } from '../objects/context.ts'
import type { TaskGroup } from '../util/async/task-group.ts'
import { describeError } from '../util/log/describe-error.ts'
import { CrdWatch } from './crd-watch.ts'
import { GroupRefresh, type RefreshResult } from './group-refresh.ts'
import { retryAfter } from './metadata-watch.ts'
import { isNeeded, type ResolvedResources, resolveResources, watchesCrds } from './resource-selection.ts'

export interface ResourceObserverOptions {
  readonly registry: Registry
  readonly discovery: DiscoveryCache
  readonly tasks: TaskGroup
  /** Told each time the cluster has been looked at. */
  readonly onResolved: (resolved: ResolvedResources) => void
}

export class ResourceObserver {
  readonly #context: Context
  readonly #options: ResourceObserverOptions
  readonly #looks: GroupRefresh
  readonly #definitions: CrdWatch
  /** What has been said of how things are now; it is said again when it has been otherwise in between. */
  #told: ReadonlySet<string> = new Set()
  /** Whether definitions are watched, or would be if we were allowed to. */
  isObserving = false

  constructor(context: Context, options: ResourceObserverOptions) {
    this.#context = context
    this.#options = options
    const { discovery, tasks } = options
    this.#looks = new GroupRefresh({
      clock: context.clock,
      tasks,
      look: (group, signal) => this.#lookAt(group, signal),
    })
    this.#definitions = new CrdWatch(context, {
      onSeen: ({ group, plural }, isChanged) => {
        discovery.restore(group, plural)
        if (!isChanged && discovery.has(group, plural)) return
        if (discovery.isHandledGroup(group)) this.#looks.begin(group)
        else discovery.forgetGroup(group)
      },
      onGone: ({ group, plural }) => {
        discovery.forget(group, plural)
        if (!discovery.isHandledGroup(group)) return
        this.#resolve()
        this.#looks.begin(group)
      },
    })
  }

  /** Resolves when the cluster has been looked at once; rejects when it cannot be. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#options.discovery.refresh(signal)
    this.#resolve()
  }

  /** After that; and when what is there is being watched, which is more urgent. */
  observe(signal: AbortSignal): void {
    const { registry, discovery, tasks } = this.#options
    if (!watchesCrds(registry, discovery.resources, this.#context.settings)) return
    this.isObserving = true
    tasks.run(() => this.#follow(signal))
  }

  /** The server says that it does not know a resource which it had told of. */
  suspect(group: string): void {
    if (!this.#context.settings.scanning.disabled && canHaveCustomResources(group)) this.#looks.retry(group)
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#context
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      await this.#definitions.follow(signal)
      if (signal.aborted) return
      if (attempt === 0) {
        logger.warn(
          'Not enough permissions to watch for resources: definitions that come, change or go are noticed late. ' +
            'Grant the operator list and watch on customresourcedefinitions.apiextensions.k8s.io, or set scanning.disabled',
        )
      }
      await clock.sleep(retryAfter(attempt), signal)
      await this.#lookAgain(signal)
    }
  }

  async #lookAgain(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.discovery.refresh(signal)
      this.#resolve()
    } catch (error) {
      this.#context.logger.debug(`Discovery has failed: ${describeError(error)}`)
    }
  }

  async #lookAt(group: string, signal: AbortSignal): Promise<RefreshResult> {
    const { discovery } = this.#options
    try {
      await discovery.refreshGroup(group, signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#context.logger.debug(`Discovery of ${group} has failed: ${describeError(error)}`)
      return 'failed'
    }
    this.#resolve()
    if (discovery.failures.some((one) => one.group === group)) return 'failed'
    return this.#definitions.in(group).every(({ plural }) => discovery.has(group, plural)) ? 'settled' : 'waiting'
  }

  #resolve(): void {
    const { registry, discovery } = this.#options
    const resolved = resolveResources(registry, discovery.resources)
    this.#tell(resolved)
    for (const { group } of discovery.failures) if (isNeeded(group, registry, resolved)) this.#looks.retry(group)
    this.#options.onResolved(resolved)
  }

  /** Each thing once, for as long as it is so. */
  #tell({ warnings, unresolved }: ResolvedResources): void {
    const { logger } = this.#context
    const told = new Set<string>()
    const isNews = (key: string) => {
      told.add(key)
      return !this.#told.has(key)
    }
    for (const { group, version, error } of this.#options.discovery.failures) {
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
