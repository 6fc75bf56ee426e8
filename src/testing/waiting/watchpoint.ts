/**
 * Where a wait begins: finds the resource, opens its watch, and walks from the state that the test last saw. Nothing of it blocks: a wait
 * asks again until the watch has come that far.
 */
import { isNotFound } from '../../client/api-error.ts'
import { collectionPath, objectPath } from '../../client/paths.ts'
import { KopfError } from '../../errors.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource, ResourceLike } from '../../kube/resources/resources.ts'
import type { ParsedLabelSelector } from '../../server/selectors.ts'
import { monotonicMs } from '../../util/async/clock.ts'
import { isOlder, laterVersion } from '../../watching/resource-version.ts'
import type { ClusterBackend } from '../cluster/backend.ts'
import type { ClusterHistory, WatchedHistory } from './cluster-history.ts'
import type { SeenEntry } from './last-seen.ts'
import { Replay } from './replay.ts'
import { toKey } from './resource-history.ts'

/** Which objects a wait is about. */
export interface WaitScope {
  readonly like: ResourceLike
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  /** Undefined for a list. */
  readonly name: string | undefined
  /** Undefined for all labels. */
  readonly labels: ParsedLabelSelector | undefined
}

/** How often the cluster is asked again for a resource that it does not serve, where writes cannot be noticed. */
const resolveEveryMs = 500

export class Watchpoint {
  readonly #site: ClusterBackend
  readonly #history: ClusterHistory
  readonly #scope: WaitScope
  /** What the test knew when the wait began: later requests of the test do not change where the wait begins. */
  readonly #entries: readonly SeenEntry[]
  readonly #lastStep: string | undefined
  #resource: Resource | undefined
  #watched: WatchedHistory | undefined
  #replay: Replay | undefined
  #misfit: KopfError | undefined
  #askedAt: string | number | undefined

  constructor(backend: ClusterBackend, history: ClusterHistory, scope: WaitScope) {
    this.#site = backend
    this.#history = history
    this.#scope = scope
    this.#entries = backend.lastSeen.entries(scope.name)
    this.#lastStep = backend.lastSeen.latest
  }

  /** Whether the resource was taken from the cluster, and its objects with it. Throws for one that never was there: it may be misspelt. */
  isUnserved(): boolean {
    if (this.#misfit !== undefined) throw this.#misfit
    return isNotFound(this.#watched?.problem)
  }

  /** Undefined as long as the watch has not come to the state that the wait begins with. */
  async replay(): Promise<Replay | undefined> {
    if (this.#replay !== undefined) return this.#replay
    this.#resource ??= await this.#resolve()
    if (this.#resource === undefined) return undefined
    this.#watched ??= this.#history.watch(this.#resource, this.#namespace)
    await this.#watched.opened
    const { history } = this.#watched
    const seen = this.#seen()
    if (history.version === undefined || !seen.every((one) => this.#isReached(one))) return undefined
    this.#replay = new Replay({
      history,
      from: this.#start(seen),
      matches: (key, object) => this.#matches(key, object),
    })
    return this.#replay
  }

  /** Whether the server has no such object: the watch may lag behind, so that an object seems absent which has just been created. */
  async isAbsentNow(): Promise<boolean> {
    const path = objectPath(this.#resource!, { name: this.#scope.name!, namespace: this.#namespace })
    try {
      await this.#site.session.request({ method: 'GET', path })
      return false
    } catch (error) {
      if (isNotFound(error)) return true
      throw error
    }
  }

  /** The state is what the test knows of the object from now on. */
  found(object: KubeObject): KubeObject {
    const { resourceVersion, namespace, name } = object.metadata
    const address = { collection: collectionPath(this.#resource!), namespace, name: name! }
    if (resourceVersion !== undefined) this.#site.lastSeen.note(address, { version: resourceVersion })
    return object
  }

  /** The object of this name that the test knew is gone: later states are of another one. */
  foundGone(version: string | undefined): true {
    const address = { collection: collectionPath(this.#resource!), namespace: this.#namespace, name: this.#scope.name! }
    if (version !== undefined) this.#site.lastSeen.note(address, { version })
    return true
  }

  foundList(objects: KubeObject[], version: string | undefined): KubeObject[] {
    if (version !== undefined) this.#site.lastSeen.reach(version)
    return objects
  }

  /** What keeps the wait from seeing states, in sentences. */
  problems(): string[] {
    if (this.#resource === undefined) return this.#misfit === undefined ? [] : [this.#misfit.message]
    const { problem, history } = this.#watched ?? {}
    const { message } = (problem ?? {}) as Partial<Error>
    return [
      ...(message === undefined ? [] : [`The watch of ${this.#resource.plural} has failed: ${message}`]),
      ...(history?.hasGaps ? ['Some states may be missing: the server no longer had all changes.'] : []),
      ...(history?.version === undefined || this.#replay !== undefined
        ? []
        : ['The watch has not yet shown the last write of the test.']),
    ]
  }

  get #namespace(): string | undefined {
    return this.#resource?.namespaced ? this.#scope.namespace : undefined
  }

  /** A resource may be defined while the test waits. Asks again only where something may be new: requests keep time from being skipped. */
  async #resolve(): Promise<Resource | undefined> {
    const now = this.#site.version ?? Math.floor(monotonicMs() / resolveEveryMs)
    if (now === this.#askedAt) return undefined
    this.#askedAt = now
    try {
      return await this.#site.resolve(this.#scope.like)
    } catch (error) {
      if (!(error instanceof KopfError) || error.code !== 'KOPF_RESOURCE') throw error
      this.#misfit = error
      return undefined
    }
  }

  #seen(): SeenEntry[] {
    const collection = collectionPath(this.#resource!)
    const namespace = this.#namespace
    return this.#entries.filter(
      ({ address }) =>
        address.collection === collection && (namespace === undefined || address.namespace === namespace),
    )
  }

  #isReached({ address, seen }: SeenEntry): boolean {
    const { version, current } = this.#watched!.history
    if ('version' in seen) return !isOlder(version, seen.version)
    return current.get(toKey(address.namespace, address.name))?.metadata.uid !== seen.deletedUid
  }

  /**
   * An object begins with the state that the test last saw of it, a list with the last step of the test; both not before `settled` or
   * `clock.advance`.
   */
  #start(seen: readonly SeenEntry[]): string | undefined {
    const { history } = this.#watched!
    const { lastSeen } = this.#site
    const versions = seen.map((one) =>
      'version' in one.seen ? one.seen.version : history.deletionOf(one.seen.deletedUid),
    )
    if (this.#scope.name === undefined) versions.push(this.#lastStep)
    return [...versions, lastSeen.floor].reduce<string>(
      (start, version) => (version === undefined ? start : laterVersion(start, version)),
      this.#history.startVersion,
    )
  }

  #matches(key: string, { metadata }: KubeObject): boolean {
    const { name, labels } = this.#scope
    if (name !== undefined) return key === toKey(this.#namespace, name)
    return labels === undefined || labels.matches(metadata.labels ?? {})
  }
}
