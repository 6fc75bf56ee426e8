/**
 * One object that the operator watches: its parts, each with its own file, and whether the object is there. Lives as long as the object is
 * served; everything that must survive the process is stored on the object itself.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { ErrorBackoff } from './error-backoff.ts'
import { HandledState } from './handled-state.ts'
import { ObservedState } from './observed-state.ts'
import type { ServedResource } from './served-resource.ts'
import { UpdateRateLimit } from './update-rate-limit.ts'
import { WriteQueue } from './write-queue.ts'

/** What the watch reported when the object was deleted or left the selector. */
export interface DeletionReport {
  readonly object: KubeObject
  /** True if the deletion was found by a list: only the metadata of `object` is known then. */
  readonly missed: boolean
}

/**
 * Whether the object is there. `deleted`: the watch reports a deletion, and the worker has not handled it yet. `filtered-out`: the object
 * exists and does not match the selector any more, but daemons still run for it. `unwatched`: the operator was paused since the object was
 * last seen, so its state may be stale. `gone`: all consequences of the end are handled. An object that is paused in another state than
 * `present` has `isStale`.
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
  /** The memo of the handlers, created on first use. Written by context.ts and admission/answer-review.ts. */
  memo: object | undefined
  #presence: Presence = present
  #slots: unknown[] | undefined
  #writes: WriteQueue | undefined
  #handled: HandledState | undefined
  #errors: ErrorBackoff | undefined
  #updates: UpdateRateLimit | undefined
  readonly #isInitial: boolean

  /** `isInitial`: the object existed when the operator started to watch. */
  constructor(served: ServedResource, body: KubeObject, { isInitial }: { readonly isInitial: boolean }) {
    this.served = served
    this.state = new ObservedState(body)
    this.#isInitial = isInitial
  }

  /** The newest known state. */
  get body(): KubeObject {
    return this.state.body
  }

  /** Patches that wait to be written, and the order of writes. */
  get writes(): WriteQueue {
    this.#writes ??= new WriteQueue()
    return this.#writes
  }

  /** What the object did not keep of its handling. */
  get handled(): HandledState {
    this.#handled ??= new HandledState(this.#isInitial)
    return this.#handled
  }

  /** Delays after unexpected errors of the framework. */
  get errors(): ErrorBackoff {
    this.#errors ??= new ErrorBackoff()
    return this.#errors
  }

  /** Pauses between the runs for an object that changes all the time. */
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

  /** The end of the object was reported, and the object was not seen since. */
  get isEnding(): boolean {
    return this.isGone || this.deletion !== undefined
  }

  /** Whether the operator was paused since the object was last seen. */
  get isUnwatched(): boolean {
    const presence = this.#presence
    return presence.type === 'unwatched' || ('isStale' in presence && presence.isStale)
  }

  /** What is known of the end of the object, until the end is handled or the object is seen again. */
  get deletion(): DeletionReport | undefined {
    return 'report' in this.#presence ? this.#presence.report : undefined
  }

  /** The watch shows the object. */
  markSeen(): void {
    if (this.#presence.type !== 'unwatched') this.#presence = this.isUnwatched ? unwatched : present
  }

  /** The watch and the end of the resource may both report the deletion of an object: the second report has no effect. */
  reportDeletion({ object, missed }: DeletionReport): void {
    if (this.isGone) return
    this.#presence = { type: 'deleted', report: { object, missed }, isStale: this.isUnwatched }
  }

  /** The object exists and does not match the selector; running daemons still hold it. */
  markFilteredOut(): void {
    const report = this.deletion
    if (report !== undefined) this.#presence = { type: 'filtered-out', report, isStale: this.isUnwatched }
  }

  markGone(): void {
    this.#presence = { type: 'gone', isStale: this.isUnwatched }
  }

  /** The operator pauses: other operators may change the object from now on. */
  markUnwatched(): void {
    if (this.#presence.type === 'present') this.#presence = unwatched
    else if (this.#presence.type !== 'unwatched') this.#presence = { ...this.#presence, isStale: true }
  }

  /** The watch shows the object after a pause. */
  markResumed(): void {
    if (this.#presence.type === 'unwatched') this.#presence = present
    else if (this.#presence.type !== 'present') this.#presence = { ...this.#presence, isStale: false }
  }
}
