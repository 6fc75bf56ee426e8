/**
 * Discovers the resources of the cluster at the start, and again when CRDs change or when the discovery of a group has failed.
 * Resolves the selectors of handlers after each discovery; orchestrator.ts serves the result.
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
  /** Called after each discovery. */
  readonly onResolved: (resolved: ResolvedResources) => void
}

export class ResourceObserver {
  readonly #context: Context
  readonly #options: ResourceObserverOptions
  readonly #refreshes: GroupRefresh
  readonly #crds: CrdWatch
  /** Keys of the problems that exist and were logged. A problem is logged again if it was absent in between. */
  #logged: ReadonlySet<string> = new Set()
  /** Whether CRDs are watched, or would be with the permission to do so. */
  isObserving = false

  constructor(context: Context, options: ResourceObserverOptions) {
    this.#context = context
    this.#options = options
    const { discovery, tasks } = options
    this.#refreshes = new GroupRefresh({
      clock: context.clock,
      tasks,
      refresh: (group, signal) => this.#refreshGroup(group, signal),
    })
    this.#crds = new CrdWatch(context, {
      onSeen: ({ group, plural }, isChanged) => {
        discovery.restore(group, plural)
        if (!isChanged && discovery.has(group, plural)) return
        if (discovery.isHandledGroup(group)) this.#refreshes.begin(group)
        else discovery.forgetGroup(group)
      },
      onGone: ({ group, plural }) => {
        discovery.forget(group, plural)
        if (!discovery.isHandledGroup(group)) return
        this.#resolve()
        this.#refreshes.begin(group)
      },
    })
  }

  /** Resolves after the first discovery; rejects if it fails. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#options.discovery.refresh(signal)
    this.#resolve()
  }

  /** Watches CRDs. Called after `start`, when the streams of the existing resources are open, because these are more urgent. */
  observe(signal: AbortSignal): void {
    const { registry, discovery, tasks } = this.#options
    if (!watchesCrds(registry, discovery.resources, this.#context.settings)) return
    this.isObserving = true
    tasks.run(() => this.#follow(signal))
  }

  /** Called when the server responds that it does not know a discovered resource. */
  recheck(group: string): void {
    if (!this.#context.settings.scanning.disabled && canHaveCustomResources(group)) this.#refreshes.retry(group)
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#context
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      await this.#crds.follow(signal)
      if (signal.aborted) return
      if (attempt === 0) {
        logger.warn(
          'Not enough permissions to watch for resources: new, changed and deleted CRDs are noticed late. ' +
            'Grant the operator list and watch on customresourcedefinitions.apiextensions.k8s.io, or set scanning.disabled',
        )
      }
      await clock.sleep(retryAfter(attempt), signal)
      await this.#refreshAll(signal)
    }
  }

  async #refreshAll(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.discovery.refresh(signal)
      this.#resolve()
    } catch (error) {
      this.#context.logger.debug(`Discovery has failed: ${describeError(error)}`)
    }
  }

  async #refreshGroup(group: string, signal: AbortSignal): Promise<RefreshResult> {
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
    return this.#crds.in(group).every(({ plural }) => discovery.has(group, plural)) ? 'settled' : 'waiting'
  }

  #resolve(): void {
    const { registry, discovery } = this.#options
    const resolved = resolveResources(registry, discovery.resources)
    this.#logProblems(resolved)
    for (const { group } of discovery.failures) if (isNeeded(group, registry, resolved)) this.#refreshes.retry(group)
    this.#options.onResolved(resolved)
  }

  /** Logs each problem once while it exists. */
  #logProblems({ warnings, unresolved }: ResolvedResources): void {
    const { logger } = this.#context
    const logged = new Set<string>()
    const isNews = (key: string) => {
      logged.add(key)
      return !this.#logged.has(key)
    }
    for (const { group, version, error } of this.#options.discovery.failures) {
      const name = formatGroupVersion(group, version)
      const message = `The API ${name} does not say what it serves: ${describeError(error)}`
      if (isNews(`failed ${name}`)) logger.warn(message)
    }
    for (const [key, message] of warnings) if (isNews(key)) logger.warn(message)
    const missing = unresolved.filter((selector) => isNews(`unresolved ${selector}`))
    if (missing.length > 0) {
      logger.warn(`Unresolved resources cannot be served (try creating their CRDs): ${missing.join(', ')}`)
    }
    this.#logged = logged
  }
}
