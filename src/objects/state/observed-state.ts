/**
 * The newest known state of one object. Only this file replaces the body: states arrive from the watch, from responses to writes and from reads, in any order,
 * and an older state never replaces a newer one. A part of WatchedObject.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { copyWith, shareText } from '../../util/json/lazy-json.ts'
import { isOlder } from '../../watching/resource-version.ts'

/** The source of a state. */
export type StateSource = 'watch' | 'write' | 'read'

/**
 * `held`: the state may be older than the operator's own write, and is kept aside until the watch delivers that write. `stale`: the state is older than the
 * known one.
 */
export type Acceptance = 'new' | 'known' | 'held' | 'stale'

export interface AcceptTiming {
  /** The current time of the monotonic clock. */
  readonly nowMs: number
  /** The maximum time for which states are held after a write, if resourceVersions cannot be compared. */
  readonly consistencyMs: number
}

export class ObservedState {
  #body: KubeObject
  /** The version of the operator's last write. Needed only if resourceVersions cannot be compared: older states may arrive until the deadline. */
  #expected: { readonly version: string; readonly untilMs: number } | undefined
  #held: KubeObject | undefined
  /** The version at which the server responded that the object does not exist. */
  #notFoundAt: string | undefined
  #wasRead = false

  constructor(body: KubeObject) {
    this.#body = body
  }

  get body(): KubeObject {
    return this.#body
  }

  get version(): string | undefined {
    return this.#body.metadata.resourceVersion
  }

  /** The server has responded that the object does not exist: no handler is called until another state arrives. */
  get isNotFound(): boolean {
    return this.version !== undefined && this.version === this.#notFoundAt
  }

  /** Whether the object was read after this replica became the leader (take-over.ts). */
  get wasRead(): boolean {
    return this.#wasRead
  }

  markRead(): void {
    this.#wasRead = true
  }

  markNotFound(): void {
    this.#notFoundAt = this.version
  }

  /** The remaining time until a held state is used even if the watch has not delivered the operator's own write. */
  heldForMs(nowMs: number): number {
    return this.#expected === undefined ? 0 : Math.max(0, this.#expected.untilMs - nowMs)
  }

  /** Shares unparsed JSON text between the body and a state that waits in the queue, so that equal members are parsed once. */
  share(body: KubeObject): void {
    shareText(body, this.#body)
  }

  /** Replaces the body if the state is new. */
  accept(body: KubeObject, from: StateSource, timing: AcceptTiming): Acceptance {
    if (from === 'watch') return this.#acceptWatched(body, timing.nowMs)
    return from === 'write' ? this.#acceptWritten(body, timing) : this.#acceptRead(body)
  }

  /**
   * The watch also delivers the operator's own writes, and may lag behind them. An older state is recognised by its resourceVersion. With an API server whose
   * versions cannot be compared, a state that arrives before the operator's own write is held.
   */
  #acceptWatched(body: KubeObject, nowMs: number): Acceptance {
    const known = this.version
    const version = body.metadata.resourceVersion
    if (version === known && body !== this.#body) {
      if (version === this.#expected?.version) this.#forgetExpected()
      return 'known'
    }
    if (isOlder(version, known)) return 'stale'
    const isNewer = isOlder(known, version) || body === this.#body
    if (!isNewer && this.#expected !== undefined && version !== this.#expected.version && this.heldForMs(nowMs) > 0) {
      this.#held = body
      return 'held'
    }
    this.#replace(body)
    this.#forgetExpected()
    return 'new'
  }

  /** The response to the operator's own write is the newest state. */
  #acceptWritten(body: KubeObject, { nowMs, consistencyMs }: AcceptTiming): Acceptance {
    const version = body.metadata.resourceVersion
    if (isOlder(version, this.version)) return 'stale'
    this.share(body)
    this.#replace(body)
    if (version !== undefined && consistencyMs > 0) this.#expected = { version, untilMs: nowMs + consistencyMs }
    return 'new'
  }

  #acceptRead(body: KubeObject): Acceptance {
    const version = body.metadata.resourceVersion
    if (version === this.version) return 'known'
    if (isOlder(version, this.version)) return 'stale'
    this.share(body)
    this.#replace(body)
    return 'new'
  }

  /** Uses the held state if the watch has not delivered the operator's own write in time. */
  acceptHeld(nowMs: number): void {
    if (this.#held === undefined || this.heldForMs(nowMs) > 0) return
    this.#replace(this.#held)
    this.#forgetExpected()
  }

  /** Accepts the last state of a deleted object. */
  acceptFinal(body: KubeObject): void {
    if (!isOlder(body.metadata.resourceVersion, this.version)) this.#replace(body)
  }

  /** Accepts any state in a replica that is not the leader: it does not write, so the watch is its only source. */
  follow(body: KubeObject): void {
    this.#replace(body)
  }

  /** Drops the version, so that the next state counts as new: after a restored backup, or a switch to another version of the resource. */
  forgetVersion(): void {
    const metadata = copyWith(this.#body.metadata, { resourceVersion: undefined })
    this.#replace(copyWith(this.#body, { metadata }))
    this.#forgetExpected()
  }

  #replace(body: KubeObject): void {
    this.#body = body
  }

  #forgetExpected(): void {
    this.#expected = undefined
    this.#held = undefined
  }
}
