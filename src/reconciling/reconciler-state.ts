/**
 * One reconciler of one object: what triggered its next call, when that is due at the latest, and how often it has failed. In memory only: after a
 * restart every reconciler is called once.
 */
import type { Outcome } from '../handlers/outcomes.ts'
import type { ReconcileSteps } from '../steps/step-run.ts'
import { recheckNow } from './children/existing-objects.ts'
import type { ChildRecords } from './children/sync.ts'

const firstDelayMs = 1000
const maxDelayMs = 600_000

/** The trigger of a child that this reconciler has written itself. */
const ownWrite = 'own'

/** The trigger of a changed object in `watches`. */
export const watchedTrigger = 'watched'

/** Further triggers are counted as one. */
const maxTriggers = 100

export class ReconcilerState {
  /** What has happened since the last call: tells our own writes from those of others. */
  readonly #triggers = new Set<string>()
  /** When the reconciler is called although nothing happens; by the monotonic clock. */
  #dueMs = Infinity
  /** The digest of the state of the last call, or of what the reconciler has made of it. */
  #seen: string | undefined
  /** The last call was triggered only by the writes of the call before it. */
  #isFollowUp = false
  readonly records: ChildRecords = { contentions: new Map(), uids: new Map(), unmanaged: new Map() }
  /** When the first attempt of a series began: the time of day, and the monotonic clock. Undefined before it. */
  started: { readonly atMs: number; readonly steadyMs: number } | undefined
  /** The steps, until a call returns without an error; undefined if they have to be read from the object. */
  steps: ReconcileSteps | undefined
  /** Attempts that have failed in a row. */
  retries = 0
  /** The last attempt has failed permanently. */
  hasFailed = false
  /** The reconciler is not called before all existing children are listed. */
  isWaiting = false
  /** The reconciler was called although children of some kind cannot be listed; it is called again when they can. */
  ranUnsynced = false
  /** The reconciler was called with `deleting`, and nothing is left to clean up. */
  isCleaned = false

  get dueMs(): number {
    return this.#dueMs
  }

  isDue(seen: string, nowMs: number): boolean {
    return this.#seen !== seen || this.#triggers.size > 0 || this.#dueMs <= nowMs
  }

  addTrigger(trigger: string): void {
    if (this.#triggers.size < maxTriggers) this.#triggers.add(trigger)
    else this.#triggers.add('more')
  }

  /**
   * The reconciler has written a child: the watch echo of the write is no trigger, but the reconciler is called once more to see the child as it is
   * stored. Not if the last call was such a follow-up itself: a reconciler that returns something new each time would loop.
   */
  addOwnWrite(echo: string, isNew: boolean): void {
    this.#triggers.delete(echo)
    if (isNew || !this.#isFollowUp) this.#triggers.add(ownWrite)
  }

  begin(seen: string, nowMs: number): void {
    const isOwnOnly = this.#triggers.size === 1 && this.#triggers.has(ownWrite)
    if (this.#seen !== seen || this.#triggers.has(watchedTrigger)) recheckNow(this.records.unmanaged)
    this.#isFollowUp = isOwnOnly && this.#seen === seen && this.#dueMs > nowMs
    this.#triggers.clear()
    this.#dueMs = Infinity
    this.#seen = seen
    this.ranUnsynced = false
  }

  /** The reconciler has made this state itself: it is no reason to call it again. */
  markSeen(seen: string): void {
    this.#seen = seen
  }

  /** Follows the outcome of a call. After a permanent failure, only a change leads to another call. */
  follow(outcome: Outcome, nextMs: number, nowMs: number): void {
    if (outcome.type === 'retry') this.retries += 1
    else this.retries = 0
    this.hasFailed = outcome.type === 'failed'
    if (outcome.type !== 'retry') this.started = undefined
    this.#dueMs = outcome.type === 'retry' ? nowMs + outcome.delayMs : outcome.type === 'done' ? nextMs : Infinity
  }

  /** Twice as long each time, with jitter: between half of it and all of it. */
  backoffMs(random: () => number): number {
    const full = Math.min(firstDelayMs * 2 ** Math.min(this.retries, 30), maxDelayMs)
    return Math.round(full * (0.5 + random() / 2))
  }
}

/** The trigger of a state of a child, or of its end. */
export function childTrigger(uid: string | undefined, version: string | undefined): string {
  return `${uid}@${version ?? 'gone'}`
}
