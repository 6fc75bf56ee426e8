/**
 * What is served where: the streams of all resources in all namespaces, as both come and go. A resource whose definition
 * is missing is looked for again; namespaces given by patterns are watched themselves.
 */

import { describeError } from '../core/handling/outcomes.ts'
import type { Registry } from '../core/handling/registry.ts'
import { reflect } from '../core/watching/reflect.ts'
import { KopfError } from '../errors.ts'
import { isExactNamespace, matchesNamespace, type NamespacePattern } from '../kube/namespaces.ts'
import type { Resource } from '../kube/resources.ts'
import { formatResource } from '../kube/selectors.ts'
import type { TaskGroup } from '../util/tasks.ts'
import type { Health } from './health.ts'
import { unindex, untilAllIndexed } from './indexing.ts'
import type { Insights } from './insights.ts'
import type { Memory, Served } from './memories.ts'
import { resolveResources } from './resources.ts'
import type { Runtime } from './runtime.ts'
import { describeScope, leaveToOthers, runStream, toServed } from './serve.ts'

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
  /** Called once, when all objects that were there at the start and are indexed are in the indices. */
  readonly onIndexed: () => void
}

/** Resources that are not there yet are looked for after so long, then less often. */
const lookAgainMs = [1000, 2000, 4000, 8000, 15_000, 30_000]

const namespacesResource: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  singular: 'namespace',
  shortcuts: ['ns'],
  categories: [],
  subresources: ['status', 'finalize'],
  namespaced: false,
  preferred: true,
  verbs: ['get', 'list', 'watch'],
}

export class Orchestra {
  readonly #runtime: Runtime
  readonly #options: OrchestrateOptions
  /** By resource, in text. */
  readonly #served = new Map<string, Served>()
  readonly #namespaces = new Set<string>()
  /** One for each resource and namespace that is served: aborted to end it. */
  readonly #streams = new Map<string, AbortController>()
  readonly #waiting = new Set<string>()
  readonly #forbidden = new Map<string, Error>()
  /** Streams whose first objects have to be in the indices before any handler is called; only those opened at the start. */
  readonly #unindexed = new Set<string>()
  #hasStarted = false
  #onReady: () => void = () => {}
  #onFailure: (error: Error) => void = () => {}

  constructor(runtime: Runtime, options: OrchestrateOptions) {
    this.#runtime = runtime
    this.#options = options
  }

  /** Resolves when everything that is there has been brought once, or the signal is aborted; rejects when we may not see it. */
  async start(signal: AbortSignal): Promise<void> {
    const ready = new Promise<void>((resolve, reject) => {
      this.#onReady = resolve
      this.#onFailure = reject
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    await this.#startNamespaces(signal)
    await this.#look(signal, true)
    this.#hasStarted = true
    this.#checkIndexed()
    this.#checkReady()
    return ready
  }

  async #look(signal: AbortSignal, isFirst: boolean): Promise<void> {
    const { registry, insights, tasks } = this.#options
    const { logger } = this.#runtime
    const failures = await insights.refresh(signal)
    if (isFirst) {
      for (const { group, version, error } of failures) {
        logger.warn(`The API ${group}/${version} does not say what it serves: ${describeError(error)}`)
      }
    }
    const { resources, unresolved } = resolveResources(registry, insights.resources, logger)
    for (const resource of resources) this.#serve(resource)
    this.#options.onLooked()
    if (unresolved.length === 0) return
    if (isFirst) {
      logger.warn(`Unresolved resources cannot be served (try creating their CRDs): ${unresolved.join(', ')}`)
    }
    if (isFirst && !this.#runtime.settings.scanning.disabled) tasks.run(() => this.#lookAgain(signal))
  }

  async #lookAgain(signal: AbortSignal): Promise<void> {
    const { registry, insights } = this.#options
    const { clock, logger } = this.#runtime
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      await clock.sleep(lookAgainMs[Math.min(attempt, lookAgainMs.length - 1)]!, signal)
      await this.#look(signal, false).catch((error) => logger.debug(`Discovery has failed: ${describeError(error)}`))
      if (resolveResources(registry, insights.resources, silent).unresolved.length === 0) return
    }
  }

  #serve(resource: Resource): void {
    const name = formatResource(resource)
    if (this.#served.has(name)) return
    const { registry } = this.#options
    const { settings, logger } = this.#runtime
    const served = toServed(registry, settings, resource)
    for (const conflict of served.handlers.conflicts) logger.warn(conflict)
    this.#served.set(name, served)
    this.#open(served)
  }

  #open(served: Served): void {
    const isEverywhere = this.#options.scope.namespaces === undefined || !served.resource.namespaced
    const namespaces = isEverywhere ? [undefined] : [...this.#namespaces]
    for (const namespace of namespaces) this.#openStream(served, namespace)
  }

  #openStream(served: Served, namespace: string | undefined): void {
    const name = `${formatResource(served.resource)}/${namespace ?? ''}`
    if (this.#streams.has(name)) return
    const end = new AbortController()
    this.#streams.set(name, end)
    this.#waiting.add(name)
    const pulse = this.#options.health.follow(describeScope({ resource: served.resource, namespace }))
    if (served.handlers.index.length > 0 && !this.#hasStarted) this.#unindexed.add(name)
    const stream = {
      served,
      namespace,
      onListed: () => {
        this.#forbidden.delete(name)
        this.#waiting.delete(name)
        this.#checkReady()
        if (this.#unindexed.has(name)) void untilAllIndexed(served).then(() => this.#noteIndexed(name))
      },
      onForbidden: (error: Error) => {
        if (this.#waiting.has(name)) this.#forbidden.set(name, error)
        if (this.#unindexed.has(name)) this.#warnOfIndices(served)
        this.#checkForbidden(served)
      },
      onState: pulse.changed,
    }
    const { tasks } = this.#options
    tasks.run((signal) =>
      runStream(this.#runtime, stream, AbortSignal.any([signal, end.signal])).finally(() => pulse.end()),
    )
  }

  #noteIndexed(stream: string): void {
    if (this.#unindexed.delete(stream)) this.#checkIndexed()
  }

  #checkIndexed(): void {
    if (this.#hasStarted && this.#unindexed.size === 0) this.#options.onIndexed()
  }

  #warnOfIndices({ resource }: Served): void {
    this.#runtime.warnOnce(
      resource,
      'unindexed',
      'No handler is called until these objects can be listed, since they are indexed: grant the operator the right to list and watch them',
    )
  }

  #checkReady(): void {
    if (this.#waiting.size === 0) this.#onReady()
  }

  /** One resource that we may not see is a pity; all of them are a mistake somebody has to put right. */
  #checkForbidden({ resource }: Served): void {
    if (this.#waiting.size === 0 || this.#forbidden.size < this.#streams.size) return
    const [error] = this.#forbidden.values()
    const { group, plural } = resource
    this.#onFailure(
      new KopfError(
        'KOPF_FORBIDDEN',
        `Cannot watch anything: ${describeError(error)}\nGrant the operator a role with the rule: ` +
          `apiGroups: ["${group}"], resources: ["${plural}"], verbs: ["list", "watch", "patch"]`,
        { cause: error },
      ),
    )
  }

  /** Names are taken as they are; patterns need a look at what namespaces there are, again and again. */
  async #startNamespaces(signal: AbortSignal): Promise<void> {
    const patterns = this.#options.scope.namespaces ?? []
    for (const pattern of patterns.filter(isExactNamespace)) this.#namespaces.add(pattern)
    if (patterns.every(isExactNamespace)) return
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      this.#watchNamespaces(patterns, resolve, signal)
    })
  }

  #watchNamespaces(patterns: readonly NamespacePattern[], onListed: () => void, signal: AbortSignal): void {
    const { session, clock, random, settings, logger } = this.#runtime
    const observer = {
      watchStateChanged: (state: { type: string; error?: unknown }) => {
        if (state.type !== 'broken') return
        logger.warn(`Namespaces cannot be watched, only those given by name are served: ${describeError(state.error)}`)
        onListed()
      },
      watchWarned: (message: string) => logger.warn(message),
    }
    const options = {
      session,
      clock,
      random,
      resource: namespacesResource,
      namespace: undefined,
      watching: settings.watching,
      observer,
    }
    this.#options.tasks.run(() =>
      reflect(
        options,
        (event) => {
          if (event.type === 'listed') return onListed()
          const { name = '' } = event.object.metadata
          if (!patterns.some((pattern) => matchesNamespace(pattern, name))) return
          if (event.type === 'applied') this.#addNamespace(name)
          else this.#dropNamespace(name)
        },
        signal,
      ),
    )
  }

  #addNamespace(name: string): void {
    if (this.#namespaces.has(name)) return
    this.#namespaces.add(name)
    for (const served of this.#served.values()) this.#open(served)
  }

  #dropNamespace(name: string): void {
    this.#namespaces.delete(name)
    for (const key of [...this.#streams.keys()].filter((one) => one.endsWith(`/${name}`))) {
      this.#streams.get(key)?.abort()
      this.#streams.delete(key)
      this.#waiting.delete(key)
      this.#forbidden.delete(key)
      this.#noteIndexed(key)
    }
    this.#leaveNamespace(name)
    this.#checkReady()
  }

  /** The end of the objects is not always told before that of their namespace. */
  #leaveNamespace(name: string): void {
    for (const { memories, isOnlyIndexed } of this.#served.values()) {
      if (isOnlyIndexed) continue
      for (const memory of memories.values()) {
        if (memory.body.metadata.namespace !== name) continue
        if (this.#runtime.standing.isStandingBy) leaveToOthers(this.#runtime, memory)
        else this.#runtime.queue.put(memory, { type: 'deleted', object: memory.body, missed: true })
      }
    }
    this.#unindex(({ body }) => body.metadata.namespace === name)
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
    this.#unindex(() => true)
  }

  #unindex(isAmong: (memory: Memory) => boolean): void {
    for (const { memories, isOnlyIndexed } of this.#served.values()) {
      for (const [key, memory] of memories) {
        if (!isAmong(memory)) continue
        unindex(this.#runtime, memory)
        if (isOnlyIndexed) memories.delete(key)
      }
    }
  }
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
