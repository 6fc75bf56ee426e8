/**
 * What is served where: all resources that handlers are for, in all namespaces, as both come and go. Told by the observers
 * what there is; opens and ends the streams accordingly, and lets go of the objects of what is gone.
 */

import { describeError } from '../core/handling/outcomes.ts'
import type { Registry } from '../core/handling/registry.ts'
import { KopfError } from '../errors.ts'
import { formatRules } from '../kube/access-rules.ts'
import type { NamespacePattern } from '../kube/namespaces.ts'
import type { Resource } from '../kube/resources.ts'
import { formatResource } from '../kube/selectors.ts'
import type { TaskGroup } from '../util/tasks.ts'
import type { Health } from './health.ts'
import { unindex, untilAllIndexed } from './indexing.ts'
import type { Insights } from './insights.ts'
import { allHandlers, type Memory, type Served } from './memories.ts'
import { needsOfObjects, needsOfWork } from './needs.ts'
import { NamespaceObserver } from './observe-namespaces.ts'
import { ResourceObserver } from './observe-resources.ts'
import { type Needs, Permissions } from './permissions.ts'
import { Relations } from './relations.ts'
import { type Resolved, whyUnsuitable } from './resources.ts'
import type { Runtime } from './runtime.ts'
import { leaveToOthers, toServed } from './serve.ts'
import { Streams } from './streams.ts'
import { canSucceed, hasSameHandlers, isOtherVersion, isSameKind, takeOver } from './succession.ts'

interface Scope {
  /** Undefined for the whole cluster. */
  readonly namespaces: readonly NamespacePattern[] | undefined
}

export interface OrchestrateOptions {
  readonly registry: Registry
  readonly insights: Insights
  readonly scope: Scope
  readonly tasks: TaskGroup
  readonly health: Health
  /** Called each time it is known anew what the cluster serves. */
  readonly onLooked: () => void
  /** Called each time the namespaces that are served are others. */
  readonly onNamespaces: () => void
  /** Called when all objects that were there at the start and are indexed are in the indices; more than once. */
  readonly onIndexed: () => void
}

export class Orchestra {
  readonly #runtime: Runtime
  readonly #options: OrchestrateOptions
  /** By resource, in text. */
  readonly #served = new Map<string, Served>()
  readonly #resources: ResourceObserver
  readonly #namespaces: NamespaceObserver
  readonly #streams: Streams
  readonly #relations: Relations
  #onReady: () => void = () => {}
  #onFailure: (error: Error) => void = () => {}

  constructor(runtime: Runtime, options: OrchestrateOptions) {
    this.#runtime = runtime
    this.#options = options
    const { tasks, health, scope, onIndexed } = options
    this.#resources = new ResourceObserver(runtime, { ...options, onResolved: (resolved) => this.#arrange(resolved) })
    this.#namespaces = new NamespaceObserver(runtime, {
      patterns: scope.namespaces,
      tasks,
      onAdded: (name) => this.#enterNamespace(name),
      onGone: (name) => this.#leaveNamespace(name),
    })
    this.#streams = new Streams(runtime, {
      tasks,
      health,
      onIndexed,
      onReady: () => this.#onReady(),
      onAllForbidden: (error, served) => this.#onFailure(forbidden(error, served)),
      onMissing: ({ resource }) => this.#resources.suspect(resource.group),
    })
    this.#relations = new Relations(runtime, {
      ...options,
      served: () => this.#served.values(),
      onMissing: ({ group }) => this.#resources.suspect(group),
    })
  }

  /** Resolves when everything that is there has been brought once, or the signal is aborted; rejects when we may not see it. */
  async start(signal: AbortSignal): Promise<void> {
    const ready = new Promise<void>((resolve, reject) => {
      this.#onReady = resolve
      this.#onFailure = reject
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    const permissions = new Permissions(this.#runtime, signal)
    permissions.ask(this.#namespaces.scopes)
    await Promise.all([this.#namespaces.start(signal), this.#resources.start(signal)])
    this.#streams.started()
    this.#resources.observe(signal)
    this.#options.tasks.run(() => permissions.check(this.#needs()))
    return ready
  }

  #needs(): Needs {
    const needs = needsOfWork({
      handled: this.#served.values(),
      related: this.#relations.related,
      observesDefinitions: this.#resources.isObserving,
      observesNamespaces: this.#namespaces.isObserving,
      isPosting: this.#runtime.settings.posting.enabled,
    })
    return { ...needs, namespaces: this.#namespaces.names }
  }

  /** What is served already stays so although its name has become ambiguous: half of the handling would be worse than either. */
  #arrange({ resources, contested }: Resolved): void {
    const kept = contested.filter((one) => this.#served.has(formatResource(one)))
    const wanted = new Map([...resources, ...kept].map((resource) => [formatResource(resource), resource]))
    for (const served of [...this.#served.values()]) this.#revise(served, wanted)
    for (const resource of wanted.values()) this.#serve(resource)
    this.#relations.arrange(this.#options.insights.resources, this.#namespaces.names)
    this.#options.onLooked()
  }

  #revise(served: Served, wanted: ReadonlyMap<string, Resource>): void {
    const { registry, insights } = this.#options
    const { resource } = served
    const now = wanted.get(formatResource(resource))
    if (now !== undefined && isSameKind(resource, now) && hasSameHandlers(registry, served, now)) {
      served.resource = now
      return
    }
    const others = [...wanted.values()].filter((one) => !this.#served.has(formatResource(one)))
    const successor = now ?? others.find((one) => isOtherVersion(resource, one))
    if (successor !== undefined && canSucceed(registry, served, successor)) this.#succeed(served, successor)
    else this.#letGo(served, insights.resources.some((one) => isSameKind(resource, one)) ? 'unwanted' : 'gone')
  }

  #serve(resource: Resource): void {
    const name = formatResource(resource)
    if (this.#served.has(name)) return
    const { registry } = this.#options
    const problem = whyUnsuitable(registry, resource)
    if (problem !== undefined) {
      this.#runtime.warnOnce(resource, 'unsuitable', problem)
      return
    }
    const served = this.#prepare(resource)
    const namespaces = resource.namespaced ? (this.#namespaces.names ?? [undefined]) : [undefined]
    for (const namespace of namespaces) this.#streams.open(served, namespace)
  }

  #prepare(resource: Resource): Served {
    const { settings, logger, observer } = this.#runtime
    const served = toServed(this.#options.registry, settings, resource)
    for (const conflict of served.handlers.conflicts) logger.warn(conflict)
    observer?.served?.(
      resource,
      allHandlers(served.handlers).map(({ kind }) => kind),
    )
    this.#served.set(formatResource(resource), served)
    return served
  }

  /** Its objects are the same, and what is remembered of them goes on: nobody is called for one of them twice at once. */
  #succeed(served: Served, resource: Resource): void {
    this.#runtime.logger.debug(
      `${formatResource(resource)} is served in the place of ${formatResource(served.resource)}.`,
    )
    this.#served.delete(formatResource(served.resource))
    const successor = this.#prepare(resource)
    takeOver(this.#runtime, served, successor)
    this.#streams.hand(served, successor)
  }

  #letGo(served: Served, end: NonNullable<Served['end']>): void {
    const name = formatResource(served.resource)
    this.#runtime.logger.info(
      end === 'gone' ? `${name} is gone, and not served any more.` : `${name} is not served any more.`,
    )
    this.#served.delete(name)
    this.#streams.close((one) => one === served)
    served.end = end
    this.#dismiss(served, () => true)
  }

  #enterNamespace(name: string): void {
    // First: whether anything may be watched there is for the peering to say.
    this.#options.onNamespaces()
    for (const served of this.#served.values()) {
      if (served.resource.namespaced) this.#streams.open(served, name)
    }
    this.#relations.enterNamespace(name)
  }

  /** The end of the objects is not always told before that of their namespace. */
  #leaveNamespace(name: string): void {
    this.#streams.close((_, namespace) => namespace === name)
    this.#relations.leaveNamespace(name)
    for (const served of this.#served.values()) {
      this.#dismiss(served, ({ body }) => body.metadata.namespace === name)
    }
    this.#options.onNamespaces()
    this.#runtime.pause.forget(name)
  }

  #dismiss(served: Served, isAmong: (memory: Memory) => boolean): void {
    for (const memory of served.memories.values()) {
      if (served.isOnlyIndexed || !isAmong(memory)) continue
      if (this.#runtime.standing.isStandingBy) leaveToOthers(this.#runtime, memory)
      else this.#runtime.queue.put(memory, { type: 'deleted', object: memory.body, missed: true })
    }
    this.#unindex(served, isAmong)
  }

  /** The operator stands back in this namespace, maybe for long: the others go on without its objects. */
  excuseNamespace(name: string): void {
    this.#streams.excuse(name)
  }

  /** Those served; undefined for the whole cluster. */
  get namespaces(): Iterable<string> | undefined {
    return this.#namespaces.names
  }

  /** What is remembered of all objects. */
  *memories(): Iterable<Memory> {
    for (const { memories } of this.#served.values()) yield* memories.values()
  }

  /** What is remembered of an object, by whichever version of its resource it is watched. */
  memoryOf({ group, plural }: Resource, uid: string): Memory | undefined {
    for (const { resource, memories } of this.#served.values()) {
      if (resource.group === group && resource.plural === plural && memories.has(uid)) return memories.get(uid)
    }
    return undefined
  }

  /** Resolves when no indexing function is under way that was when this was asked. */
  async indexed(): Promise<void> {
    await Promise.all(Array.from(this.#served.values(), untilAllIndexed))
  }

  /** The indices are as empty as before the start, for the next one. */
  clearIndices(): void {
    for (const served of this.#served.values()) this.#unindex(served, () => true)
  }

  #unindex({ memories, isOnlyIndexed }: Served, isAmong: (memory: Memory) => boolean): void {
    for (const [key, memory] of memories) {
      if (!isAmong(memory)) continue
      unindex(this.#runtime, memory)
      if (isOnlyIndexed) memories.delete(key)
    }
  }
}

function forbidden(error: Error, served: Served): KopfError {
  const advice = `Grant the operator a role with the ${formatRules(needsOfObjects(served))}`
  return new KopfError('KOPF_FORBIDDEN', `Cannot watch anything: ${describeError(error)}\n${advice}`, { cause: error })
}
