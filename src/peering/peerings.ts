/**
 * All peerings of the operator: joins and leaves them as their resources and the served namespaces appear and disappear. A cluster-scoped peering
 * pauses the whole operator, one in a namespace pauses that namespace. Created by run/bootstrap.ts; peering.ts handles each peering object.
 */

import type { DiscoveryCache } from '../client/discovery/discovery-cache.ts'
import type { NamespacePattern } from '../kube/namespaces.ts'
import { peeringGroups, pluralOfPeerings, selectPeerings } from '../kube/peerings.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { EVERYTHING } from '../kube/resources/selector-notations.ts'
import { formatResource, type ResourceSelector, toSelector } from '../kube/resources/selectors.ts'
import type { Context } from '../objects/context.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import type { PeeringSettings } from '../settings/groups.ts'
import { Latch } from '../util/async/latch.ts'
import { TaskGroup } from '../util/async/task-group.ts'
import { Peering } from './peering.ts'

export interface PeeringsOptions {
  readonly discovery: DiscoveryCache
  /** The served namespaces; undefined for the whole cluster. */
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

/** Selectors of the peering resources, which discovery needs in addition to the resources of handlers. */
export function peeringSelectors({ standalone }: PeeringSettings): ResourceSelector[] {
  return standalone ? [] : peeringGroups.map((group) => toSelector([group, EVERYTHING]))
}

interface PeeringScope {
  readonly resource: Resource
  /** Undefined for a cluster-scoped peering. */
  readonly namespace: string | undefined
}

interface JoinedPeering {
  /** Aborted to leave the peering. */
  readonly end: AbortController
  readonly namespace: string | undefined
}

/** Reasons of a pause. Those of single peerings name the peering. */
const allNamespaces = 'all namespaces are paused'
const notDiscovered = 'the peerings are not known yet'
const missingResource = 'the peering is mandatory, and its resource is missing'

export class Peerings {
  readonly #context: Context
  readonly #options: PeeringsOptions
  /** The joined peerings, by the reason under which they pause the operator. */
  readonly #joined = new Map<string, JoinedPeering>()
  /** Reasons of joined peerings without a first decision. They pause the operator until then. */
  readonly #pending = new Set<string>()
  /** The number of joined peerings by namespace: there are two API groups of peerings, so a namespace may have two. */
  readonly #namespaces = new Map<string, number>()
  /** Stopped after all other tasks of the run: other operators must not resume before this one has ended its work. */
  readonly #tasks: TaskGroup
  readonly #paused = new Latch()
  readonly #isStandalone: boolean
  #hasDiscovered = false

  constructor(context: Context, options: PeeringsOptions) {
    this.#context = context
    this.#options = options
    this.#tasks = new TaskGroup(options.onFailure)
    this.#isStandalone = context.settings.peering.standalone
    // No object is watched before the peers are known: two operators could otherwise handle the same object at the start.
    if (!this.#isStandalone) context.pause.hold(notDiscovered)
  }

  /** Resolves when a peer pauses the operator for the first time. The start then no longer waits for objects: the pause may be long. */
  get paused(): Promise<void> {
    return this.#paused.opened
  }

  /** Called after each discovery of resources: joins and leaves peerings accordingly. */
  discovered(): void {
    this.#hasDiscovered = true
    if (this.#isStandalone) return
    const { discovery } = this.#options
    const { pause, settings, leadership } = this.#context
    // Only the leader of several replicas takes part in peerings: the candidates do not process objects.
    if (leadership.isCandidate) {
      pause.release(notDiscovered)
      return
    }
    const resources = selectPeerings(discovery.resources, settings.peering.clusterwide)
    const scopes = new Map(resources.flatMap((resource) => this.#scopesOf(resource)))
    for (const reason of this.#joined.keys()) if (!scopes.has(reason)) this.#leave(reason)
    for (const [reason, scope] of scopes) if (!this.#joined.has(reason)) this.#join(reason, scope)
    this.#checkMandatory(resources.length === 0)
    pause.release(notDiscovered)
  }

  /** Called when the served namespaces have changed, and when this replica has become the leader. */
  refresh(): void {
    if (this.#hasDiscovered) this.discovered()
  }

  /** Leaves all peerings: removes our records, so that other operators can resume at once. */
  async leave(): Promise<void> {
    await this.#tasks.stop()
  }

  #scopesOf(resource: Resource): Array<[string, PeeringScope]> {
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
    // Paused until the first decision.
    this.#pending.add(reason)
    pause.hold(reason, namespace)
    this.#updateClusterPause()
    const onDecision = (isPaused: boolean) => {
      if (end.signal.aborted) return
      this.#pending.delete(reason)
      if (isPaused) this.#hold(reason, namespace)
      else this.#release(reason, namespace)
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
    this.#release(reason, namespace)
  }

  #hold(reason: string, namespace: string | undefined): void {
    this.#context.pause.hold(reason, namespace)
    if (namespace === undefined) this.#paused.open()
    else this.#options.onPausedIn(namespace)
    this.#updateClusterPause()
  }

  #release(reason: string, namespace: string | undefined): void {
    this.#context.pause.release(reason, namespace)
    this.#updateClusterPause()
  }

  /**
   * Pauses cluster-scoped objects, and the operator as a whole, while every joined namespace is paused. One namespace that is not paused keeps them
   * running.
   */
  #updateClusterPause(): void {
    const { pause } = this.#context
    if (this.#namespaces.size === 0 || pause.pausedNamespaces < this.#namespaces.size) {
      pause.release(allNamespaces)
      return
    }
    pause.hold(allNamespaces)
    if (this.#pending.size === 0) this.#paused.open()
  }

  #checkMandatory(isMissing: boolean): void {
    const { pause, settings, logger } = this.#context
    if (!isMissing || !settings.peering.mandatory) {
      pause.release(missingResource)
      return
    }
    if (!pause.reasons.includes(missingResource)) {
      const plural = pluralOfPeerings(settings.peering.clusterwide)
      logger.warn(
        `The peering "${settings.peering.name}" is mandatory, and the cluster does not serve ${plural}.kopf.dev: the operator is ` +
          'paused until their CustomResourceDefinition is installed, and the peering is created',
      )
    }
    pause.hold(missingResource)
    this.#paused.open()
  }
}

/**
 * Pauses the processing of objects, in one namespace or all. A running worker finishes; nothing else starts before the watch shows the object again.
 * Runs synchronously when the streams stop, before any timer can fire, so that nothing starts on an object during the pause.
 */
export function pauseObjects({ queue, features, catchUp, served }: Context, namespace: string | undefined): void {
  // Without a namespace, the pause is for all objects, cluster-scoped ones included.
  const isPaused = ({ body }: WatchedObject) => namespace === undefined || body.metadata.namespace === namespace
  for (const object of served.objects()) if (isPaused(object)) object.markUnwatched()
  // The list after the pause shows all objects, but does not repeat reported deletions.
  queue.discard(({ type }) => type !== 'deleted', isPaused)
  features.paused(isPaused)
  catchUp?.leave(isPaused)
}
