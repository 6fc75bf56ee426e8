/**
 * Serves all resources that have handlers, in all served namespaces, while both change. The observers report resources and
 * namespaces; the orchestrator opens and closes the streams, and releases the objects of those that are gone.
 */

import type { DiscoveryCache } from '../client/discovery/discovery-cache.ts'
import { KopfError } from '../errors.ts'
import type { Registry } from '../handlers/registry.ts'
import type { NamespacePattern } from '../kube/namespaces.ts'
import { formatRules } from '../kube/rbac-rules.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { Context } from '../objects/context.ts'
import { allHandlers, type ServedResource, type ServedResources } from '../objects/state/served-resource.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { PermissionCheck, type RequiredPermissions } from '../rbac/permission-check.ts'
import { rulesOfObjects, rulesOfWork } from '../rbac/required-rules.ts'
import type { ReconcilingContext } from '../reconciling/context.ts'
import { OwnedAndWatched } from '../reconciling/sources/owned-and-watched.ts'
import type { TaskGroup } from '../util/async/task-group.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { StreamsHealth } from '../watching/stream-pool.ts'
import { forgetObject } from './deliver.ts'
import { NamespaceObserver } from './namespace-observer.ts'
import { ObjectStreams } from './object-streams.ts'
import { ResourceObserver } from './resource-observer.ts'
import { type ResolvedResources, whyUnsuitable } from './resource-selection.ts'
import { createServedResource } from './served-resource.ts'
import { canTakeOverFrom, hasSameHandlers, isOtherVersion, isSameKind, switchVersion } from './version-switch.ts'

interface ServedScope {
  /** Undefined for the whole cluster. */
  readonly namespaces: readonly NamespacePattern[] | undefined
}

export interface OrchestratorOptions {
  readonly registry: Registry
  readonly discovery: DiscoveryCache
  readonly scope: ServedScope
  readonly tasks: TaskGroup
  readonly health: StreamsHealth
  readonly reconciling: ReconcilingContext
  /** Called after each discovery of the served resources. */
  readonly onDiscovered: () => void
  /** Called when the set of served namespaces changes. */
  readonly onNamespaces: () => void
  /** Called when the indices contain all objects that existed at the start; may be called more than once. */
  readonly onIndexed: () => void
}

export class Orchestrator {
  readonly #context: Context
  readonly #options: OrchestratorOptions
  /** By the text of the resource. */
  readonly #served: ServedResources
  readonly #resources: ResourceObserver
  readonly #namespaces: NamespaceObserver
  readonly #streams: ObjectStreams
  readonly #ownedAndWatched: OwnedAndWatched
  #onReady: () => void = () => {}
  #onFailure: (error: Error) => void = () => {}

  constructor(context: Context, options: OrchestratorOptions) {
    this.#context = context
    this.#served = context.served
    this.#options = options
    const { tasks, health, scope, onIndexed } = options
    this.#resources = new ResourceObserver(context, { ...options, onResolved: (resolved) => this.#update(resolved) })
    this.#namespaces = new NamespaceObserver(context, {
      patterns: scope.namespaces,
      tasks,
      onAdded: (name) => this.#enterNamespace(name),
      onGone: (name) => this.#leaveNamespace(name),
    })
    this.#streams = new ObjectStreams(context, {
      tasks,
      health,
      onIndexed,
      onReady: () => this.#onReady(),
      onAllForbidden: (error, served) => this.#onFailure(forbidden(error, served)),
      onMissing: ({ group }) => this.#resources.recheck(group),
    })
    this.#ownedAndWatched = new OwnedAndWatched(options.reconciling, {
      ...options,
      onMissing: ({ group }) => this.#resources.recheck(group),
    })
  }

  /**
   * Resolves when all existing objects have been delivered once, or when the signal is aborted. Rejects if the operator lacks the
   * permission to watch any of them.
   */
  async start(signal: AbortSignal): Promise<void> {
    const ready = new Promise<void>((resolve, reject) => {
      this.#onReady = resolve
      this.#onFailure = reject
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    const permissions = new PermissionCheck(this.#context, signal)
    permissions.prefetch(this.#namespaces.scopes)
    await Promise.all([this.#namespaces.start(signal), this.#resources.start(signal)])
    this.#streams.started()
    this.#resources.observe(signal)
    this.#options.tasks.run(() => permissions.check(this.#requiredPermissions()))
    return ready
  }

  #requiredPermissions(): RequiredPermissions {
    const rules = rulesOfWork({
      handled: this.#served.values(),
      related: this.#ownedAndWatched.related,
      watchesCrds: this.#resources.isObserving,
      watchesNamespaces: this.#namespaces.isObserving,
      isPosting: this.#context.settings.posting.enabled,
    })
    return { ...rules, namespaces: this.#namespaces.names }
  }

  /**
   * Updates the served resources. A resource that is served already stays so even if its name has become ambiguous: to stop in
   * the middle of the handling would be worse.
   */
  #update({ resources, ambiguousCandidates }: ResolvedResources): void {
    const kept = ambiguousCandidates.filter((one) => this.#served.has(formatResource(one)))
    const desired = new Map([...resources, ...kept].map((resource) => [formatResource(resource), resource]))
    for (const served of [...this.#served.values()]) this.#updateServed(served, desired)
    for (const resource of desired.values()) this.#serve(resource)
    this.#ownedAndWatched.arrange(this.#options.discovery.resources, this.#namespaces.names)
    this.#options.onDiscovered()
  }

  #updateServed(served: ServedResource, desired: ReadonlyMap<string, Resource>): void {
    const { registry, discovery } = this.#options
    const { resource } = served
    const now = desired.get(formatResource(resource))
    if (now !== undefined && isSameKind(resource, now) && hasSameHandlers(registry, served, now)) {
      served.resource = now
      return
    }
    const others = [...desired.values()].filter((one) => !this.#served.has(formatResource(one)))
    const successor = now ?? others.find((one) => isOtherVersion(resource, one))
    if (successor !== undefined && canTakeOverFrom(registry, served, successor)) this.#replaceVersion(served, successor)
    else this.#stopServing(served, discovery.resources.some((one) => isSameKind(resource, one)) ? 'unwanted' : 'gone')
  }

  #serve(resource: Resource): void {
    const name = formatResource(resource)
    if (this.#served.has(name)) return
    const { registry } = this.#options
    const problem = whyUnsuitable(registry, resource)
    if (problem !== undefined) {
      this.#context.warnOnce(resource, 'unsuitable', problem)
      return
    }
    const served = this.#prepare(resource)
    const namespaces = resource.namespaced ? (this.#namespaces.names ?? [undefined]) : [undefined]
    for (const namespace of namespaces) this.#streams.open(served, namespace)
  }

  #prepare(resource: Resource): ServedResource {
    const { settings, logger, observer } = this.#context
    const served = createServedResource(this.#options.registry, settings, resource)
    for (const conflict of served.handlers.conflicts) logger.warn(conflict)
    const handlers = allHandlers(served.handlers).map(({ id, type }) => ({ id, type }))
    observer?.resourceServed?.({ resource, handlerTypes: handlers.map(({ type }) => type), handlers })
    this.#served.set(formatResource(resource), served)
    return served
  }

  /**
   * Serves another version of the resource, or the same with other handlers. Its objects keep their state, so that no handler
   * runs twice at the same time for one object.
   */
  #replaceVersion(served: ServedResource, resource: Resource): void {
    this.#context.logger.debug(`${formatResource(resource)} is served instead of ${formatResource(served.resource)}.`)
    this.#served.delete(formatResource(served.resource))
    const successor = this.#prepare(resource)
    switchVersion(this.#context, served, successor)
    this.#streams.switchVersion(served, successor)
  }

  #stopServing(served: ServedResource, end: NonNullable<ServedResource['end']>): void {
    const name = formatResource(served.resource)
    this.#context.logger.info(
      end === 'gone' ? `${name} is gone, and not served any more.` : `${name} is not served any more.`,
    )
    this.#served.delete(name)
    this.#streams.close((one) => one === served)
    served.end = end
    this.#releaseObjects(served, () => true)
  }

  #enterNamespace(name: string): void {
    // This is called first: the peering decides whether the operator is paused in the namespace.
    this.#options.onNamespaces()
    for (const served of this.#served.values()) {
      if (served.resource.namespaced) this.#streams.open(served, name)
    }
    this.#ownedAndWatched.enterNamespace(name)
  }

  /** The deletions of objects may arrive after the deletion of their namespace, so the objects are released here. */
  #leaveNamespace(name: string): void {
    this.#streams.close((_, namespace) => namespace === name)
    this.#ownedAndWatched.leaveNamespace(name)
    for (const served of this.#served.values()) {
      this.#releaseObjects(served, ({ body }) => body.metadata.namespace === name)
    }
    this.#options.onNamespaces()
    this.#context.pause.forget(name)
  }

  #releaseObjects(served: ServedResource, isAmong: (watched: WatchedObject) => boolean): void {
    for (const watched of served.objects.values()) {
      if (served.isOnlyIndexed || !isAmong(watched)) continue
      if (this.#context.leadership.isCandidate) forgetObject(this.#context, watched)
      else this.#context.queue.put(watched, { type: 'deleted', object: watched.body, missed: true })
    }
    this.#removeFromIndices(served, isAmong)
  }

  /** Called when the operator is paused in a namespace, maybe for long: the start does not wait for its objects. */
  stopAwaiting(name: string): void {
    this.#streams.stopAwaiting(name)
  }

  /** The served namespaces; undefined for the whole cluster. */
  get namespaces(): Iterable<string> | undefined {
    return this.#namespaces.names
  }

  /** Resolves when the indexing that was in progress at the time of the call has finished. */
  async indexed(): Promise<void> {
    await Promise.all(Array.from(this.#served.values(), (served) => this.#context.features.allSettled(served)))
  }

  /** Empties the indices for the next run. */
  clearIndices(): void {
    for (const served of this.#served.values()) this.#removeFromIndices(served, () => true)
  }

  #removeFromIndices({ objects, isOnlyIndexed }: ServedResource, isAmong: (watched: WatchedObject) => boolean): void {
    for (const [key, watched] of objects) {
      if (!isAmong(watched)) continue
      this.#context.features.forgotten(watched)
      if (isOnlyIndexed) objects.delete(key)
    }
  }
}

function forbidden(error: Error, served: ServedResource): KopfError {
  const advice = `Grant the operator a role with the ${formatRules(rulesOfObjects(served))}`
  return new KopfError('KOPF_FORBIDDEN', `Cannot watch anything: ${describeError(error)}\n${advice}`, { cause: error })
}
