/**
 * One object that the operator watches: its presence, and parts that each have their own file. Exists as long as the operator serves the object; everything
 * that must survive the process is stored on the Kubernetes object itself.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { ErrorBackoff } from './error-backoff.ts'
import { HandledState } from './handled-state.ts'
import { ObservedState } from './observed-state.ts'
import type { ServedResource } from './served-resource.ts'
import { UpdateRateLimit } from './update-rate-limit.ts'
import { WriteQueue } from './write-queue.ts'

/** The report of the watch that the object was deleted or left the selector. */
export interface DeletionReport {
  readonly object: KubeObject
  /** True if the deletion was found by a list: only the metadata of `object` is known then. */
  readonly missed: boolean
}

/**
 * Whether the object exists for the operator. `deleted`: the watch has reported a deletion, and the worker has not handled it yet. `filtered-out`: the object
 * exists and does not match the selector any more, but daemons still run for it. `unwatched`: the operator was paused since the watch last delivered the object,
 * so its state may be stale. `gone`: the deletion is handled completely. `isStale` marks the states other than `present` in the same way.
 */
export type Presence =
  | { readonly type: 'present' }
  | { readonly type: 'unwatched' }
  | { readonly type: 'deleted' | 'filtered-out'; readonly report: DeletionReport; readonly isStale: boolean }
  | { readonly type: 'gone'; readonly isStale: boolean }

const present: Presence = { type: 'present' }
const unwatched: Presence = { type: 'unwatched' }

export class WatchedObject {
  /** Replaced when the cluster serves the resource in another version. Written by cluster/version-switch.ts. */
  served: ServedResource
  readonly state: ObservedState
  /** The memo of the handlers, created on first use. Written by context.ts and admission/create-review.ts. */
  memo: object | undefined
  #presence: Presence = present
  #slots: unknown[] | undefined
  #writes: WriteQueue | undefined
  #handled: HandledState | undefined
  #errors: ErrorBackoff | undefined
  #updates: UpdateRateLimit | undefined
  readonly #isInitial: boolean

  /** `isInitial`: the object existed when the operator started. */
  constructor(served: ServedResource, body: KubeObject, { isInitial }: { readonly isInitial: boolean }) {
    this.served = served
    this.state = new ObservedState(body)
    this.#isInitial = isInitial
  }

  /** The newest known state. */
  get body(): KubeObject {
    return this.state.body
  }

  /** The pending patches, and the order of writes. */
  get writes(): WriteQueue {
    this.#writes ??= new WriteQueue()
    return this.#writes
  }

  /** The handling state that the Kubernetes object does not store. */
  get handled(): HandledState {
    this.#handled ??= new HandledState(this.#isInitial)
    return this.#handled
  }

  /** Delays after unexpected errors of the framework. */
  get errors(): ErrorBackoff {
    this.#errors ??= new ErrorBackoff()
    return this.#errors
  }

  /** Limits how often an object that changes continuously is handled. */
  get updates(): UpdateRateLimit {
    this.#updates ??= new UpdateRateLimit()
    return this.#updates
  }

  /** For feature-state.ts only. */
  get featureSlots(): unknown[] {
    this.#slots ??= []
    return this.#slots
  }

  get presence(): Presence {
    return this.#presence
  }

  get isGone(): boolean {
    return this.#presence.type === 'gone'
  }

  /** The watch has reported a deletion, and has not delivered the object since. */
  get isEnding(): boolean {
    return this.isGone || this.deletion !== undefined
  }

  /** Whether the operator was paused since the watch last delivered the object. */
  get isUnwatched(): boolean {
    const presence = this.#presence
    return presence.type === 'unwatched' || ('isStale' in presence && presence.isStale)
  }

  /** The report of a deletion, until the deletion is handled or the watch delivers the object again. */
  get deletion(): DeletionReport | undefined {
    return 'report' in this.#presence ? this.#presence.report : undefined
  }

  /** Called when the watch delivers the object. */
  markSeen(): void {
    if (this.#presence.type !== 'unwatched') this.#presence = this.isUnwatched ? unwatched : present
  }

  /** The watch and the end of the resource may both report the deletion of an object: the second report has no effect. */
  reportDeletion({ object, missed }: DeletionReport): void {
    if (this.isGone) return
    this.#presence = { type: 'deleted', report: { object, missed }, isStale: this.isUnwatched }
  }

  /** Called when the object exists but does not match the selector, while daemons still run for it. */
  markFilteredOut(): void {
    const report = this.deletion
    if (report !== undefined) this.#presence = { type: 'filtered-out', report, isStale: this.isUnwatched }
  }

  markGone(): void {
    this.#presence = { type: 'gone', isStale: this.isUnwatched }
  }

  /** Called when the operator pauses: other operators may change the object from now on. */
  markUnwatched(): void {
    if (this.#presence.type === 'present') this.#presence = unwatched
    else if (this.#presence.type !== 'unwatched') this.#presence = { ...this.#presence, isStale: true }
  }

  /** Called when the watch delivers the object after a pause. */
  markResumed(): void {
    if (this.#presence.type === 'unwatched') this.#presence = present
    else if (this.#presence.type !== 'present') this.#presence = { ...this.#presence, isStale: false }
  }
}
