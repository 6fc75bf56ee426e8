/**
 * One reconciler of one object: why it is to be called, when at the latest, and how often it has failed. Marks are put on it from
 * everywhere; the hall asks it whether it is due, and tells it what came of a call. In memory only.
 */
import type { Outcome } from '../../core/handling/outcomes.ts'
import type { ChildRecords } from './carry-out.ts'
import { lookAtOnce } from './left-alone.ts'
import type { StepRun } from './step-run.ts'

const firstDelayMs = 1000
const longestDelayMs = 600_000

/** The mark of what we have done to children ourselves. */
const ownDoing = 'own'

/** The mark of a change of an object in `watches`. */
export const watchedMark = 'watched'

/** More than so many reasons are as good as one. */
const mostMarks = 100

export class Reconciliation {
  /** What has happened since it was last called, so that our own doing can be told from that of others. */
  readonly #marks = new Set<string>()
  /** When it is to be called although nothing happens; by the clock that nobody sets. */
  #dueMs = Infinity
  /** The digest of the state that it was called with last, or that it has made of it. */
  #seen: string | undefined
  /** Nothing has happened since the last call but what that has done to children. */
  #isFollowUp = false
  readonly records: ChildRecords = { fights: new Map(), uids: new Map(), left: new Map() }
  /** When the first attempt of a series began: the time of day, and by the clock that nobody sets. Undefined before it. */
  started: { readonly atMs: number; readonly steadyMs: number } | undefined
  /** Its steps, as long as no call has returned without an error; undefined where they are to be read from the object. */
  steps: StepRun | undefined
  /** Attempts that have failed in a row. */
  retries = 0
  /** The last attempt has failed for good. */
  hasFailed = false
  /** It is not called before all children that are there are known. */
  isWaiting = false
  /** It was called although children of some kind cannot be known, and is called again when they can. */
  isBlind = false
  /** It was called with `deleting`, and nothing is left to be done. */
  isCleaned = false

  get dueMs(): number {
    return this.#dueMs
  }

  isDue(seen: string, nowMs: number): boolean {
    return this.#seen !== seen || this.#marks.size > 0 || this.#dueMs <= nowMs
  }

  mark(reason: string): void {
    if (this.#marks.size < mostMarks) this.#marks.add(reason)
    else this.#marks.add('more')
  }

  /**
   * A child has become what it is by our own doing: it is called once more, to see it as the server has it. But not for ever: one
   * that wants something else each time it is called has had its chance.
   */
  markOwn(echo: string, isNew: boolean): void {
    this.#marks.delete(echo)
    if (isNew || !this.#isFollowUp) this.#marks.add(ownDoing)
  }

  begin(seen: string, nowMs: number): void {
    const isOwnOnly = this.#marks.size === 1 && this.#marks.has(ownDoing)
    if (this.#seen !== seen || this.#marks.has(watchedMark)) lookAtOnce(this.records.left)
    this.#isFollowUp = isOwnOnly && this.#seen === seen && this.#dueMs > nowMs
    this.#marks.clear()
    this.#dueMs = Infinity
    this.#seen = seen
    this.isBlind = false
  }

  /** This state follows from what it has written: it is no news. */
  sees(seen: string): void {
    this.#seen = seen
  }

  /** What came of the call. After a failure for good, only a change leads to another one. */
  follow(outcome: Outcome, nextMs: number, nowMs: number): void {
    if (outcome.type === 'retry') this.retries += 1
    else this.retries = 0
    this.hasFailed = outcome.type === 'failed'
    if (outcome.type !== 'retry') this.started = undefined
    this.#dueMs = outcome.type === 'retry' ? nowMs + outcome.delayMs : outcome.type === 'done' ? nextMs : Infinity
  }

  /** Twice as long each time, and spread by chance: between half of it and all of it. */
  backoffMs(random: () => number): number {
    const full = Math.min(firstDelayMs * 2 ** Math.min(this.retries, 30), longestDelayMs)
    return Math.round(full * (0.5 + random() / 2))
  }
}

/** How a state of a child, or its end, is called among the marks. */
export function markOfChild(uid: string | undefined, version: string | undefined): string {
  return `${uid}@${version ?? 'gone'}`
}
