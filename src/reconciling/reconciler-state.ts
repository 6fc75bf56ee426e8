/**
 * The state of one reconciler of one object: the triggers and the due time of its next call, and its failed attempts. Kept in memory only: after a restart
 * every reconciler is called once. Owned by object-reconcilers.ts; triggers.ts adds triggers.
 */
import type { Outcome } from '../handlers/outcomes.ts'
import type { ReconcileSteps } from '../steps/step-run.ts'
import { recheckNow } from './children/existing-objects.ts'
import type { ChildRecords } from './children/sync.ts'
import { type ChildrenResult, SyncReport } from './children/sync-report.ts'

const firstDelayMs = 1000
const maxDelayMs = 600_000

/** The trigger for children that this reconciler has written itself. */
const ownWrite = 'own'

/** The trigger for a changed object of a kind in `watches`. */
export const watchedTrigger = 'watched'

/** Limits memory: further triggers are recorded as one. */
const maxTriggers = 100

/** Shared by all objects whose children have no problems, so that their report takes no memory. */
const withoutProblems = new SyncReport()

function hasProblems({ problems, unmanaged }: SyncReport): boolean {
  return problems.length > 0 || unmanaged.length > 0
}

export class ReconcilerState {
  /** The triggers since the last call. They distinguish the reconciler's own writes from those of other clients. */
  readonly #triggers = new Set<string>()
  /** When the reconciler is called even without a trigger; by the monotonic clock. */
  #dueMs = Infinity
  /** The digest of the object's state at the last call, or after the writes of that call. */
  #seen: string | undefined
  /** The last call was triggered only by the writes of the call before it. */
  #isFollowUp = false
  readonly records: ChildRecords = { contentions: new Map(), uids: new Map(), unmanaged: new Map() }
  /** When the first attempt of the current series of retries began, by the wall clock and by the monotonic clock. */
  started: { readonly atMs: number; readonly monotonicMs: number } | undefined
  /** The results of steps until a call succeeds; undefined if they must be read from the object. */
  steps: ReconcileSteps | undefined
  /** The last sync of the children. Undefined before the first one of this process. */
  #report: SyncReport | undefined
  #areChildrenKnown = false
  /** Attempts that have failed in a row. */
  retries = 0
  /** The last attempt has failed permanently. */
  hasFailed = false
  /** True while the reconciler waits for the list of existing children. */
  isWaiting = false
  /** The reconciler was called although children of some kind cannot be listed; it is called again when they can. */
  ranUnsynced = false
  /** The reconciler was called with `deleting`, and nothing is left to clean up. */
  isCleaned = false

  get dueMs(): number {
    return this.#dueMs
  }

  get report(): SyncReport | undefined {
    return this.#report
  }

  /** False until a call of this process has synced the children, or has left them as they are: before that, they may have unknown problems. */
  get areChildrenKnown(): boolean {
    return this.#areChildrenKnown
  }

  /** A call that did not sync the children keeps the problems of the last sync: nothing shows that they are solved. */
  recordChildren(result: ChildrenResult): void {
    if (result === 'unchecked') return
    this.#areChildrenKnown = true
    if (result !== 'untouched') this.#report = hasProblems(result) ? result : withoutProblems
  }

  isDue(seen: string, nowMs: number): boolean {
    return this.#seen !== seen || this.#triggers.size > 0 || this.#dueMs <= nowMs
  }

  addTrigger(trigger: string): void {
    if (this.#triggers.size < maxTriggers) this.#triggers.add(trigger)
    else this.#triggers.add('more')
  }

  /**
   * Called when the reconciler has written a child. The watch event of the write (`echo`) is no trigger, but the reconciler is called once more to see the
   * child as stored. There is no further call if the last call was such a follow-up: a reconciler that returns new values each time would loop.
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

  /** Records a state that the reconciler itself has written, so that it triggers no further call. */
  markSeen(seen: string): void {
    this.#seen = seen
  }

  /** Schedules the next call by the outcome of this one. After a permanent failure, only a trigger leads to another call. */
  follow(outcome: Outcome, nextMs: number, nowMs: number): void {
    if (outcome.type === 'retry') this.retries += 1
    else this.retries = 0
    this.hasFailed = outcome.type === 'failed'
    if (outcome.type !== 'retry') this.started = undefined
    this.#dueMs = outcome.type === 'retry' ? nowMs + outcome.delayMs : outcome.type === 'done' ? nextMs : Infinity
  }

  /** The delay before the next attempt: doubles with each retry, with jitter between 50% and 100%. */
  backoffMs(random: () => number): number {
    const full = Math.min(firstDelayMs * 2 ** Math.min(this.retries, 30), maxDelayMs)
    return Math.round(full * (0.5 + random() / 2))
  }
}

/** The trigger for one state of a child, or for its deletion (without a version). */
export function childTrigger(uid: string | undefined, version: string | undefined): string {
  return `${uid}@${version ?? 'gone'}`
}
