/**
 * The starting point of one wait: resolves the resource, opens its watch, and creates a replay from the state that the test has
 * last seen. Its methods do not block: a wait calls them again until the watch has reached that state.
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

/** The objects that a wait examines. */
export interface WaitScope {
  readonly like: ResourceLike
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  /** Undefined for a list. */
  readonly name: string | undefined
  /** Undefined for all labels. */
  readonly labels: ParsedLabelSelector | undefined
}

/**
 * Interval of discovery requests for a resource that the cluster does not serve yet, on a real cluster where writes cannot be
 * noticed.
 */
const resolveEveryMs = 500

export class Watchpoint {
  readonly #backend: ClusterBackend
  readonly #history: ClusterHistory
  readonly #scope: WaitScope
  /** The last-seen versions when the wait began. Later requests of the test do not move the start of the wait. */
  readonly #entries: readonly SeenEntry[]
  readonly #lastStep: string | undefined
  #resource: Resource | undefined
  #watched: WatchedHistory | undefined
  #replay: Replay | undefined
  #resolveError: KopfError | undefined
  #resolvedAt: string | number | undefined

  constructor(backend: ClusterBackend, history: ClusterHistory, scope: WaitScope) {
    this.#backend = backend
    this.#history = history
    this.#scope = scope
    this.#entries = backend.lastSeen.entries(scope.name)
    this.#lastStep = backend.lastSeen.latest
  }

  /**
   * Whether the watch reports that the resource is no longer served, so that all its objects are gone. Throws if the resource was
   * never served: its name may be misspelt.
   */
  isUnserved(): boolean {
    if (this.#resolveError !== undefined) throw this.#resolveError
    return isNotFound(this.#watched?.problem)
  }

  /** Undefined until the watch has reached the state with which the wait begins. */
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

  /** Asks the server whether the object is absent. The watch may lag behind, so that a new object seems absent. */
  async isAbsentNow(): Promise<boolean> {
    const path = objectPath(this.#resource!, { name: this.#scope.name!, namespace: this.#namespace })
    try {
      await this.#backend.session.request({ method: 'GET', path })
      return false
    } catch (error) {
      if (isNotFound(error)) return true
      throw error
    }
  }

  /** Records the state as the last one that the test has seen of the object. */
  recordFound(object: KubeObject): KubeObject {
    const { resourceVersion, namespace, name } = object.metadata
    const address = { collection: collectionPath(this.#resource!), namespace, name: name! }
    if (resourceVersion !== undefined) this.#backend.lastSeen.record(address, { version: resourceVersion })
    return object
  }

  /** Records that the object is deleted: later states with this name belong to another object. */
  recordDeleted(version: string | undefined): true {
    const address = { collection: collectionPath(this.#resource!), namespace: this.#namespace, name: this.#scope.name! }
    if (version !== undefined) this.#backend.lastSeen.record(address, { version })
    return true
  }

  recordList(objects: KubeObject[], version: string | undefined): KubeObject[] {
    if (version !== undefined) this.#backend.lastSeen.advanceTo(version)
    return objects
  }

  /** Sentences about problems of the watch, for the error message. */
  problems(): string[] {
    if (this.#resource === undefined) return this.#resolveError === undefined ? [] : [this.#resolveError.message]
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

  /**
   * The resource may be defined while the test waits. The request is repeated only after a write, because requests prevent the
   * clock from skipping time.
   */
  async #resolve(): Promise<Resource | undefined> {
    const now = this.#backend.version ?? Math.floor(monotonicMs() / resolveEveryMs)
    if (now === this.#resolvedAt) return undefined
    this.#resolvedAt = now
    try {
      return await this.#backend.resolve(this.#scope.like)
    } catch (error) {
      if (!(error instanceof KopfError) || error.code !== 'KOPF_RESOURCE') throw error
      this.#resolveError = error
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
   * The wait for an object starts at the state that the test has last seen of it; the wait for a list starts at the last step of
   * the test. Neither starts before the last `settled()` or `clock.advance()`.
   */
  #start(seen: readonly SeenEntry[]): string | undefined {
    const { history } = this.#watched!
    const { lastSeen } = this.#backend
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
