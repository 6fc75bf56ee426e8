/**
 * The newest known state of one object. The only place that replaces its body: states come from the watch, from responses to writes and from
 * reads, in any order, and an older state never replaces a newer one.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { copyWith, shareText } from '../../util/json/lazy-json.ts'
import { isOlder } from '../../watching/resource-version.ts'

/** Where a state comes from. */
export type StateSource = 'watch' | 'write' | 'read'

/** `held`: the state may be older than our own write, and is kept until that comes by the watch. */
export type Acceptance = 'new' | 'known' | 'held'

export interface AcceptTiming {
  /** The monotonic clock. */
  readonly nowMs: number
  /** How long states may be held after a write, where versions cannot be compared. */
  readonly consistencyMs: number
}

export class ObservedState {
  #body: KubeObject
  /** The version that our last write made. Only needed where versions cannot be compared: older states may come until the deadline. */
  #expected: { readonly version: string; readonly untilMs: number } | undefined
  #held: KubeObject | undefined
  /** The version for which the server answered that the object does not exist. */
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

  /** The server does not know the object in this state: nothing is started until another state comes. */
  get isNotFound(): boolean {
    return this.version !== undefined && this.version === this.#notFoundAt
  }

  /** Whether the object was read since this replica leads (take-over.ts). */
  get wasRead(): boolean {
    return this.#wasRead
  }

  markRead(): void {
    this.#wasRead = true
  }

  markNotFound(): void {
    this.#notFoundAt = this.version
  }

  /** How long until a held state is used although the own write did not come by the watch. */
  heldForMs(nowMs: number): number {
    return this.#expected === undefined ? 0 : Math.max(0, this.#expected.untilMs - nowMs)
  }

  /** The watch brings a state, which waits for the worker: text that it has in common with the body is parsed once. */
  share(body: KubeObject): void {
    shareText(body, this.#body)
  }

  /** Replaces the body if the state is news. */
  accept(body: KubeObject, from: StateSource, timing: AcceptTiming): Acceptance {
    if (from === 'watch') return this.#acceptWatched(body, timing.nowMs)
    return from === 'write' ? this.#acceptWritten(body, timing) : this.#acceptRead(body)
  }

  /**
   * The watch echoes our own writes and may lag behind them. Versions of one resource can be compared; for other API servers, a state that
   * comes before the echo of our write is held.
   */
  #acceptWatched(body: KubeObject, nowMs: number): Acceptance {
    const known = this.version
    const version = body.metadata.resourceVersion
    if (version === known && body !== this.#body) {
      if (version === this.#expected?.version) this.#forgetExpected()
      return 'known'
    }
    if (isOlder(version, known)) return 'known'
    const isNewer = isOlder(known, version) || body === this.#body
    if (!isNewer && this.#expected !== undefined && version !== this.#expected.version && this.heldForMs(nowMs) > 0) {
      this.#held = body
      return 'held'
    }
    this.#replace(body)
    this.#forgetExpected()
    return 'new'
  }

  /** The response to our own write is the newest state. */
  #acceptWritten(body: KubeObject, { nowMs, consistencyMs }: AcceptTiming): Acceptance {
    const version = body.metadata.resourceVersion
    if (isOlder(version, this.version)) return 'known'
    this.share(body)
    this.#replace(body)
    if (version !== undefined && consistencyMs > 0) this.#expected = { version, untilMs: nowMs + consistencyMs }
    return 'new'
  }

  #acceptRead(body: KubeObject): Acceptance {
    const version = body.metadata.resourceVersion
    if (version === this.version || isOlder(version, this.version)) return 'known'
    this.share(body)
    this.#replace(body)
    return 'new'
  }

  /** Uses the held state when the own write did not come by the watch in time. */
  acceptHeld(nowMs: number): void {
    if (this.#held === undefined || this.heldForMs(nowMs) > 0) return
    this.#replace(this.#held)
    this.#forgetExpected()
  }

  /** The last state of a deleted object. */
  acceptFinal(body: KubeObject): void {
    if (!isOlder(body.metadata.resourceVersion, this.version)) this.#replace(body)
  }

  /** For a replica that does not lead and does not write: the watch is its only source. */
  follow(body: KubeObject): void {
    this.#replace(body)
  }

  /** After a restored backup, or in another version of the resource: every state that comes next is news. */
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
