/**
 * Who is to be called in one handling of one object, and what for: as the records on the object say, and the cause. Filled
 * by `prepare`, worked off by cycle.ts. Calls nobody.
 *
 * A handler that finished on an older essence, while others were still to be retried, is told the rest as an update of
 * its own, from what it has seen to what is there now; only then is the object handled. Kopf marks it handled at once.
 */

import { type Cause, type HandlerReason, titles } from '../causation/cause.ts'
import type { Handler } from '../handlers/handler.ts'
import { type MatchContext, selectHandlers } from '../handlers/matching.ts'
import { isDue, isFinished, type Progress, startProgress } from '../handlers/progress.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Settings } from '../settings/settings.ts'
import { StepRecords } from '../steps/step-records.ts'
import type { Clock } from '../util/async/clock.ts'
import type { Logger } from '../util/log/log.ts'
import { HandlingState } from './progress-state.ts'
import { RequestedRetries } from './requested-retries.ts'
import { SeenStates } from './seen-states.ts'

export interface HandlingPlanOptions {
  readonly cause: Cause
  readonly body: KubeObject
  /** All change handlers of the resource: their records are ours to read and to purge. */
  readonly owned: readonly Handler[]
  /** What there is to judge a handler by, for any cause. */
  readonly matchContextOf: (cause: Cause) => MatchContext
  readonly settings: Settings
  readonly clock: Clock
  readonly logger: Logger
  /** What was to be stored on the object the last time, for objects that do not keep it. */
  readonly remembered: ReadonlyMap<string, Progress> | undefined
}

export class HandlingPlan {
  readonly state: HandlingState
  readonly steps: StepRecords
  readonly #options: HandlingPlanOptions
  readonly #seenStates: SeenStates
  /** By id, as selected for its cause: a function may be registered for several reasons under one id. */
  readonly #handlers = new Map<string, Handler>()
  /** Each handler is called once in a cycle; those that ask for a retry are called again when the object has changed for them. */
  readonly #called = new Set<string>()
  readonly #asked = new RequestedRetries()
  /** Those that are being called, with the records that were made under their names so far. */
  readonly #running = new Map<string, ReadonlySet<string>>()
  readonly #finishedNow = new Set<string>()

  constructor(options: HandlingPlanOptions) {
    const { progressStorage, diffbaseStorage } = options.settings.persistence
    this.#options = options
    this.state = new HandlingState(progressStorage, options.clock.now())
    this.steps = new StepRecords(progressStorage, options.clock.now())
    this.#seenStates = new SeenStates(options.cause, options.body, diffbaseStorage)
  }

  get hasHandlers(): boolean {
    return this.#handlers.size > 0
  }

  get hasCalled(): boolean {
    return this.#called.size > 0
  }

  /**
   * Handlers whose time has come and that were not called yet, and those that asked for a retry before the object changed to the given
   * version of the visible state; of those given, or of all.
   */
  due(version: () => number = () => 0, among: Iterable<Handler> = this.#handlers.values()): Handler[] {
    return [...among].filter(({ id }) => {
      const progress = this.state.get(id)
      if (progress === undefined || isFinished(progress)) return false
      if (this.#called.has(id)) return this.#asked.isDue(id, version)
      return isDue(progress, this.#options.clock.now())
    })
  }

  causeOf({ id }: Handler): Cause {
    const seen = this.state.get(id)?.seen
    return seen === undefined ? this.#options.cause : this.#seenStates.restSince(seen)
  }

  /** It is being called now: how far it has come, and whether it was called in this cycle before. `subrefs` grows meanwhile. */
  begin({ id }: Handler, subrefs: ReadonlySet<string>): { readonly progress: Progress; readonly isRepeated: boolean } {
    const isRepeated = this.#called.has(id)
    if (isRepeated) this.#asked.noteRepeat(id)
    this.#called.add(id)
    this.#running.set(id, subrefs)
    return { progress: this.state.get(id)!, isRepeated }
  }

  /** The handler asked for a retry: it is called again when the object has changed from this version of the visible state. */
  noteAsked({ id }: Handler, version: number): void {
    this.#asked.note(id, version)
  }

  hasAsked({ id }: Handler): boolean {
    return this.#asked.has(id)
  }

  /** The cycle ends early: handlers that would have been called again in it are called at the beginning of the next one. */
  hastenAsked(version: () => number): void {
    for (const id of this.#asked.ids()) {
      if (!this.#asked.isDue(id, version)) continue
      this.state.set(id, { ...this.state.get(id)!, delayedMs: this.#options.clock.now() })
    }
  }

  /** The handler does not match the object any more, as the handlers before it have changed it. */
  drop({ id }: Handler): void {
    this.#handlers.delete(id)
    this.state.leave(id)
  }

  /** Adds handlers that match the object only as the handlers before have changed it. */
  selectMore(reason: HandlerReason, context: MatchContext): void {
    for (const handler of selectHandlers(this.#options.owned, context)) {
      if (this.#handlers.has(handler.id) || this.#called.has(handler.id)) continue
      this.#select(handler, reason)
    }
  }

  end({ id }: Handler, progress: Progress): void {
    this.#running.delete(id)
    if (isFinished(progress)) {
      this.#finishedNow.add(id)
      this.steps.forget(progress.subrefs)
    }
    this.state.set(id, { ...progress, subrefs: progress.subrefs.filter((one) => !this.steps.isForgotten(one)) })
  }

  /** A sub-handler of one that is being called; `told` is what that one was told, with `seen` only the rest of a change. */
  admit(child: Handler, told: { readonly cause: Cause; readonly seen: string | undefined }): void {
    const { body, remembered } = this.#options
    const known = this.state.read(child.id, body, remembered)
    const progress = this.#resumeChild(child, known, told.cause)
    const isToldTheRest = told.seen !== undefined && progress.seen === undefined && !isFinished(progress)
    this.state.set(child.id, isToldTheRest ? { ...progress, seen: told.seen } : progress)
  }

  /** The records of what is not finished, for the next cycle, the next process, or Kopf. */
  store(body: KubeObject, patch: JsonObject): void {
    for (const [id, subrefs] of this.#running) this.#refer(id, subrefs)
    this.steps.store(body, patch)
    for (const id of this.#finishedNow) this.state.set(id, { ...this.state.get(id)!, seen: this.#seenStates.current })
    this.state.store(body, patch)
    this.#seenStates.store(new Set([...this.state.entries()].flatMap(([, { seen }]) => seen ?? [])), body, patch)
  }

  /** Whatever is stored is known to whom it belongs: also to the one that ends it, should we not. */
  #refer(id: string, subrefs: ReadonlySet<string>): void {
    const progress = this.state.get(id)!
    if (subrefs.size === 0) return
    this.state.set(id, { ...progress, subrefs: [...new Set([...progress.subrefs, ...subrefs])].sort() })
  }

  purge(body: KubeObject, patch: JsonObject): void {
    this.steps.purge(body, patch)
    const ids = this.#options.owned.map(({ id }) => id)
    this.state.purge(ids, body, patch)
    this.#seenStates.purge(body, patch)
  }

  prepare(reason: HandlerReason | 'noop'): void {
    const { owned, body, cause, matchContextOf, remembered } = this.#options
    for (const { id } of owned) {
      const progress = this.state.read(id, body, remembered)
      if (progress !== undefined) this.steps.read(progress.subrefs, body, remembered)
    }
    if (reason !== 'noop') {
      this.#reportSuperseded(reason)
      for (const handler of selectHandlers(owned, matchContextOf(cause))) this.#select(handler, reason)
    }
    if (reason !== 'delete') this.#readOrphans()
    if (reason !== 'noop') this.state.dropExtras(reason)
    if (reason !== 'delete') this.#resumeRest()
  }

  #select(handler: Handler, reason: HandlerReason): void {
    const { id } = handler
    this.state.set(id, this.#resumeInitial(id, this.#resume(this.state.get(id), reason)))
    this.#handlers.set(id, handler)
  }

  /** Goes on where the record says, but for what was finished for another reason. */
  #resume(progress: Progress | undefined, reason: HandlerReason): Progress {
    if (progress === undefined) return this.#start(reason)
    if (reason === 'delete' && progress.purpose !== 'delete') {
      // A clean-up must not be skipped because the creation was done: nothing finished counts for the deletion.
      const isFresh = isFinished(progress) || progress.seen !== undefined
      return isFresh ? this.#startAgain(progress, reason) : { ...progress, purpose: reason }
    }
    if (progress.seen !== undefined || progress.purpose === reason) return progress
    return { ...progress, purpose: reason }
  }

  /** What a process before us has resumed says nothing of us: we, too, have the object to take over. */
  #resumeInitial(id: string, progress: Progress): Progress {
    const { owned, cause, matchContextOf, remembered } = this.#options
    if (!cause.initial || remembered !== undefined || !isFinished(progress)) return progress
    const resuming = owned.filter((handler) => handler.initial && handler.id === id)
    const isMeant = resuming.length > 0 && selectHandlers(resuming, matchContextOf(cause)).length > 0
    return isMeant ? this.#startAgain(progress, cause.reason) : progress
  }

  #start(reason: HandlerReason, seen?: string): Progress {
    return startProgress(reason, this.#options.clock.now(), seen)
  }

  /** The sub-handlers it had are remembered: their records are to be purged with its own. */
  #startAgain(progress: Progress | undefined, reason: HandlerReason, seen?: string): Progress {
    return { ...this.#start(reason, seen), subrefs: progress?.subrefs ?? [] }
  }

  #reportSuperseded(reason: HandlerReason): void {
    for (const [other, { success, failure, running }] of this.state.extras(reason)) {
      this.#options.logger.info(
        `${titles[other]} is superseded by ${titles[reason].toLowerCase()}: ` +
          `${success} succeeded; ${failure} failed; ${running} left to the moment.`,
      )
    }
  }

  /** Those that were being told the rest when the last cycle ended. */
  #resumeRest(): void {
    const { owned, matchContextOf } = this.#options
    for (const { id } of owned) {
      const progress = this.state.get(id)
      if (progress?.seen === undefined || isFinished(progress)) continue
      const cause = this.#seenStates.restSince(progress.seen)
      const handler = selectHandlers(owned, matchContextOf(cause)).find((one) => one.id === id)
      if (handler === undefined && progress.stoppedMs === undefined && this.#handlers.has(id)) {
        // It has not really seen what it was to be told the rest of: all that changed is news for it.
        this.state.set(id, this.#startAgain(progress, this.#options.cause.reason))
      } else if (handler === undefined) {
        this.state.set(id, { ...progress, success: true, seen: this.#seenStates.current })
      } else {
        this.#handlers.set(id, handler)
        this.state.set(id, progress)
      }
    }
  }

  /** The sub-handlers of those whose change has vanished: what they have finished on is known only from their own records. */
  #readOrphans(): void {
    const { body, remembered } = this.#options
    for (const [id, { subrefs, seen }] of [...this.state.entries()]) {
      if (this.#handlers.has(id) || seen !== undefined) continue
      for (const child of subrefs) if (!this.steps.isStep(child)) this.state.read(child, body, remembered)
    }
  }

  /** Whether somebody has finished on an older essence and wants to know what changed since. */
  reopen(reason: HandlerReason | 'noop'): boolean {
    if (reason === 'delete') return false
    let isOpen = false
    const selected = new Map<Cause, readonly Handler[]>()
    for (const [index, digest] of this.#digestsBehind().entries()) {
      const rest = this.#seenStates.restSince(digest)
      const chosen = selected.get(rest) ?? selectHandlers(this.#options.owned, this.#options.matchContextOf(rest))
      selected.set(rest, chosen)
      for (const handler of chosen) {
        const progress = this.state.get(handler.id)
        // One that was not concerned until now is told all that changed since the first of the others was done; so is one
        // that had begun, and whose own change has vanished since.
        const isLeftOver = progress !== undefined && !isFinished(progress) && !this.#handlers.has(handler.id)
        const isNew = progress === undefined || (isLeftOver && progress.retries > 0)
        const isMeant = isNew ? index === 0 : isFinished(progress!) && progress!.seen === digest
        if (!isMeant || this.#called.has(handler.id)) continue
        this.#handlers.set(handler.id, handler)
        const stoppedMs = isNew ? undefined : progress!.stoppedMs
        this.state.set(handler.id, { ...this.#startAgain(progress, 'update', digest), stoppedMs })
        this.#options.logger.debug(`Handler '${handler.id}' has not seen the latest changes yet and is told the rest.`)
        isOpen = true
      }
      // Not of sub-handlers: they are told by their parents.
      for (const { id } of this.#options.owned) {
        const progress = this.state.get(id)
        if (progress !== undefined && isFinished(progress) && progress.seen === digest) {
          this.state.set(id, { ...progress, seen: this.#seenStates.current })
        }
      }
    }
    return isOpen
  }

  /** The essences that finished handlers have seen and that are not the current one; the oldest first. */
  #digestsBehind(): string[] {
    const behind = new Map<string, number>()
    for (const [id, { seen, stoppedMs = 0, success, failure }] of this.state.entries()) {
      if (seen === undefined || !(success || failure) || this.#finishedNow.has(id) || seen === this.#seenStates.current)
        continue
      behind.set(seen, Math.min(behind.get(seen) ?? Infinity, stoppedMs))
    }
    return [...behind].sort(([, a], [, b]) => a - b).map(([digest]) => digest)
  }

  #resumeChild(child: Handler, known: Progress | undefined, cause: Cause): Progress {
    const progress = this.#resume(known, cause.reason)
    const { seen } = progress
    const isBehind =
      seen !== undefined && isFinished(progress) && cause.reason !== 'delete' && seen !== this.#seenStates.current
    if (!isBehind || this.#called.has(child.id)) return progress
    const rest = this.#seenStates.restSince(seen)
    const isConcerned = rest.diff.length > 0 && selectHandlers([child], this.#options.matchContextOf(rest)).length > 0
    return isConcerned ? this.#startAgain(progress, 'update', seen) : { ...progress, seen: this.#seenStates.current }
  }
}
