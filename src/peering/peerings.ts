/**
 * The peerings of an operator: in which places it takes part in one, as these come and go. A peering of the cluster pauses all of the
 * operator, one of a namespace pauses that namespace. Made by doors.ts; what happens in each of them is in features/peering.
 */

import type { DiscoveryCache } from '../client/discovery/discovery-cache.ts'
import type { NamespacePattern } from '../kube/namespaces.ts'
import { peeringGroups, pluralOfPeerings, selectPeerings } from '../kube/peerings.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { EVERYTHING } from '../kube/resources/selector-notations.ts'
import { formatResource, type ResourceSelector, toSelector } from '../kube/resources/selectors.ts'
import type { Context } from '../objects/context.ts'
import type { PeeringSettings } from '../settings/groups.ts'
import { Latch } from '../util/async/latch.ts'
import { TaskGroup } from '../util/async/task-group.ts'
import { Peering } from './peering.ts'

export interface PeeringsOptions {
  readonly discovery: DiscoveryCache
  /** Those served; undefined for the whole cluster. */
  readonly namespaces: () => Iterable<string> | undefined
  readonly identity: () => Promise<string>
  /** Called each time another operator has precedence in this namespace. */
  readonly onPausedIn: (namespace: string) => void
  readonly onFailure: (error: unknown) => void
}

/** The options of a run that concern peering. */
export interface PeeringRunOptions {
  /** The namespaces that the operator serves. Default: the whole cluster. */
  readonly namespaces?: readonly NamespacePattern[]
  /** Whether the operator serves the whole cluster. Default: true if `namespaces` is empty. */
  readonly clusterwide?: boolean
  /** Whether the operator runs without peering. Default: false. */
  readonly standalone?: boolean
  /** The priority in the peering. Default: 0. */
  readonly priority?: number
  /** The name of the peering, which is then mandatory. Default: `default`. */
  readonly peering?: string
}

/** Applies the options of the run to the settings, before the startup handlers, which may change them again. */
export function applyPeering(settings: PeeringSettings, options: PeeringRunOptions): void {
  const { namespaces, clusterwide, peering, standalone, priority } = options
  settings.clusterwide = clusterwide === true || namespaces === undefined
  if (peering !== undefined) Object.assign(settings, { name: peering, mandatory: true })
  if (standalone !== undefined) settings.standalone = standalone
  if (priority !== undefined) settings.priority = priority
}

/** What has to be looked for in the cluster beside the resources of handlers. */
export function peeringSelectors({ standalone }: PeeringSettings): ResourceSelector[] {
  return standalone ? [] : peeringGroups.map((group) => toSelector([group, EVERYTHING]))
}

interface PeeringScope {
  readonly resource: Resource
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
}

interface JoinedPeering {
  readonly end: AbortController
  readonly namespace: string | undefined
}

const clusterScope = 'all namespaces are paused'
const unknown = 'the peerings are not known yet'
const missing = 'the peering is mandatory, and its resource is missing'

export class Peerings {
  readonly #context: Context
  readonly #options: PeeringsOptions
  /** Those we take part in, by the reason they pause us for; aborted to leave one. */
  readonly #joined = new Map<string, JoinedPeering>()
  /** Those that have not been looked at yet. */
  readonly #pending = new Set<string>()
  /** The namespaces of these, and the number of peerings in each: of two groups there may be one each. */
  readonly #namespaces = new Map<string, number>()
  /** They end after all else: others must not begin before we are done. */
  readonly #tasks: TaskGroup
  readonly #paused = new Latch()
  readonly #isStandalone: boolean
  #hasDiscovered = false

  constructor(context: Context, options: PeeringsOptions) {
    this.#context = context
    this.#options = options
    this.#tasks = new TaskGroup(options.onFailure)
    this.#isStandalone = context.settings.peering.standalone
    // Nothing is watched until it is known who else is there: otherwise two could handle the same at the start.
    if (!this.#isStandalone) context.pause.hold(unknown)
  }

  /** Resolves when the operator has to stand back for the first time: it may be so for long. */
  get paused(): Promise<void> {
    return this.#paused.opened
  }

  /** It is known what the cluster serves, or known anew. */
  discovered(): void {
    this.#hasDiscovered = true
    if (this.#isStandalone) return
    const { discovery } = this.#options
    const { pause, settings, leadership } = this.#context
    // Replicas agree among themselves who of them works: only that one has to do with other operators.
    if (leadership.isStandingBy) {
      pause.release(unknown)
      return
    }
    const resources = selectPeerings(discovery.resources, settings.peering.clusterwide)
    const places = new Map(resources.flatMap((resource) => this.#placesOf(resource)))
    for (const reason of this.#joined.keys()) if (!places.has(reason)) this.#leave(reason)
    for (const [reason, place] of places) if (!this.#joined.has(reason)) this.#join(reason, place)
    this.#noteMissing(resources.length === 0)
    pause.release(unknown)
  }

  /** The namespaces are others, or this replica is the leader now. */
  refresh(): void {
    if (this.#hasDiscovered) this.discovered()
  }

  /** The others are told that we are gone. */
  async leave(): Promise<void> {
    await this.#tasks.stop()
  }

  #placesOf(resource: Resource): Array<[string, PeeringScope]> {
    const namespaces = resource.namespaced ? [...(this.#options.namespaces() ?? [])] : [undefined]
    const { name } = this.#context.settings.peering
    return namespaces.map((namespace) => [
      `${name}@${namespace ?? 'cluster'} (${formatResource(resource)})`,
      { resource, namespace },
    ])
  }

  #join(reason: string, { resource, namespace }: PeeringScope): void {
    const { session, clock, random, logger, settings, pause } = this.#context
    const end = new AbortController()
    this.#joined.set(reason, { end, namespace })
    if (namespace !== undefined) this.#namespaces.set(namespace, (this.#namespaces.get(namespace) ?? 0) + 1)
    // Until it has been looked at.
    this.#pending.add(reason)
    pause.hold(reason, namespace)
    this.#weighNamespaces()
    const onDecision = (hasToStandBack: boolean) => {
      if (end.signal.aborted) return
      this.#pending.delete(reason)
      if (hasToStandBack) this.#standBack(reason, namespace)
      else this.#goOn(reason, namespace)
    }
    this.#tasks.run(async (signal) => {
      const identity = await this.#options.identity()
      const peering = new Peering({
        session,
        clock,
        random,
        logger,
        watching: settings.watching,
        settings: settings.peering,
        resource,
        namespace,
        isOneOfSeveral: () => this.#namespaces.size > 1,
        identity,
        isSharded: () => settings.watching.shardSelectors.size > 0,
        onDecision,
      })
      await peering.run(AbortSignal.any([signal, end.signal]))
    })
  }

  #leave(reason: string): void {
    const { end, namespace } = this.#joined.get(reason)!
    end.abort()
    this.#joined.delete(reason)
    this.#pending.delete(reason)
    if (namespace !== undefined) {
      const left = this.#namespaces.get(namespace)! - 1
      if (left > 0) this.#namespaces.set(namespace, left)
      else this.#namespaces.delete(namespace)
    }
    this.#goOn(reason, namespace)
  }

  #standBack(reason: string, namespace: string | undefined): void {
    this.#context.pause.hold(reason, namespace)
    if (namespace === undefined) this.#paused.open()
    else this.#options.onPausedIn(namespace)
    this.#weighNamespaces()
  }

  #goOn(reason: string, namespace: string | undefined): void {
    this.#context.pause.release(reason, namespace)
    this.#weighNamespaces()
  }

  /**
   * Objects without a namespace, and the operator as a whole, are paused while every namespace is: an operator of one namespace is paused as
   * one of the cluster is. As long as one namespace is not paused, no other can stop what they have in common.
   */
  #weighNamespaces(): void {
    const { pause } = this.#context
    if (this.#namespaces.size === 0 || pause.pausedNamespaces < this.#namespaces.size) {
      pause.release(clusterScope)
      return
    }
    pause.hold(clusterScope)
    if (this.#pending.size === 0) this.#paused.open()
  }

  #noteMissing(isMissing: boolean): void {
    const { pause, settings, logger } = this.#context
    if (!isMissing || !settings.peering.mandatory) {
      pause.release(missing)
      return
    }
    if (!pause.reasons.includes(missing)) {
      const plural = pluralOfPeerings(settings.peering.clusterwide)
      logger.warn(
        `The peering "${settings.peering.name}" is mandatory, and the cluster does not serve ${plural}.kopf.dev: the operator is ` +
          'paused until their CustomResourceDefinition is installed, and the peering is created',
      )
    }
    pause.hold(missing)
    this.#paused.open()
  }
}
