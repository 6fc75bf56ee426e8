/**
 * Runs one handling cycle of one object: calls the handlers that are due, one after the other, and collects their patches. plan.ts decides which
 * handlers are called; handling-state.ts is the state. Each handler sees the object as the handlers before it have changed it (visible-state.ts). If a
 * checkpoint was written while a handler ran, the remaining handlers are left to the next cycle. Called by objects/change-handling.ts, which writes the
 * result.
 */

import { type Cause, type HandlerReason, titles } from '../causation/cause.ts'
import { reduceDiff } from '../causation/diff.ts'
import { type BodyArguments, bodyArgs, type ObjectArguments, withSeen } from '../handlers/args/object-args.ts'
import type { ChangeHandler } from '../handlers/handler.ts'
import { type CallContext, callHandler } from '../handlers/invoke.ts'
import type { DueHandler, Lifecycle } from '../handlers/lifecycles.ts'
import type { MatchContext } from '../handlers/matching.ts'
import { asksForRetry, isAbort, type Outcome } from '../handlers/outcomes.ts'
import { isFinished, type Progress } from '../handlers/progress.ts'
import { type CollectedPatch, collectHandlerPatch, collectPatch } from '../handlers/results.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { createPatch, type Patch, type PatchFunction } from '../patching/patch.ts'
import type { PatchAuthors } from '../patching/patch-authors.ts'
import type { PendingPatch } from '../patching/plan-patch.ts'
import type { Settings } from '../settings/settings.ts'
import { StepRecords, type StepSeal } from '../steps/step-records.ts'
import { type StepJournal, Steps } from '../steps/steps.ts'
import { assignAll } from '../util/assign-all.ts'
import { deepFreeze } from '../util/json/deep-freeze.ts'
import { resolvePath } from '../util/json/paths.ts'
import { lazy } from '../util/lazy.ts'
import { Checkpoints } from './checkpoint.ts'
import { CycleCalls } from './cycle-calls.ts'
import {
  countOutcomes,
  emptyState,
  type HandlingState,
  hasFailed,
  isDone,
  progressOf,
  wakeAtMs,
  withOutcome,
  withoutHandler,
  withProgress,
} from './handling-state.ts'
import {
  admitSubhandler,
  type CycleReason,
  causeOf,
  dueHandlers,
  type ParentCall,
  type PlanInput,
  plan,
  readState,
  reopen,
  selectMore,
} from './plan.ts'
import { SeenStates } from './seen-states.ts'
import { purgeState, type RecordSource, readProgress, storeProgress, storeState } from './stored-state.ts'
import { SubhandlerCalls } from './subhandler-calls.ts'
import { Subhandlers } from './subhandlers.ts'
import { VisibleFilters } from './visible-filters.ts'
import { VisibleState } from './visible-state.ts'

export interface CycleOptions {
  readonly cause: Cause
  readonly body: KubeObject
  /** All change handlers of the resource. */
  readonly owned: readonly ChangeHandler[]
  /** The object and a cause that filters are compared with; `changed` is the object as earlier handlers of the cycle have changed it. */
  readonly matchContextOf: (cause: Cause, changed?: KubeObject) => MatchContext
  /** The progress of the last cycle, for objects whose schema drops the records. */
  readonly remembered: ReadonlyMap<string, Progress> | undefined
  /** Handlers that wait for their next attempt are called now. */
  readonly isHastened: boolean
  readonly settings: Settings
  readonly call: CallContext
  /** Signs the results of steps, and verifies results that are on the object. */
  readonly seal: StepSeal
  /** The arguments that describe the object. */
  readonly args: () => ObjectArguments
  /** A patch from before the cycle, which is written with its result. */
  readonly before: PendingPatch
  readonly lifecycle: Lifecycle
  readonly random: () => number
  readonly signal: AbortSignal
  /** Aborted when no further handler may be called: the next process calls the others. */
  readonly stopping: AbortSignal
  readonly isPaused: () => boolean
  /** Whether a daemon, a timer or a reconciler has written to the object since the cycle began. */
  readonly isOutdated: () => boolean
  /** Writes everything so far, while a handler is running. Resolves with the response; undefined if the object does not exist any more. */
  readonly writeCheckpoint: (cycle: Cycle) => Promise<KubeObject | undefined>
}

export class Cycle implements CollectedPatch {
  /** The changes that handlers have asked for, in the order in which the handlers finished. */
  readonly merge: JsonObject = {}
  readonly fns: PatchFunction<KubeObject>[] = []
  readonly authors: PatchAuthors = new Map()

  readonly #options: CycleOptions
  readonly #startedMs: number
  readonly #records: RecordSource
  readonly #steps: StepRecords
  readonly #seenStates: SeenStates
  readonly #checkpoints: Checkpoints
  readonly #visible: VisibleState
  readonly #filters: VisibleFilters
  readonly #calls: CycleCalls
  readonly #input: PlanInput
  #state: HandlingState = emptyState

  constructor(options: CycleOptions) {
    const { settings, body, remembered, call, cause } = options
    const { progressStorage: storage, diffbaseStorage } = settings.persistence
    this.#options = options
    this.#startedMs = call.clock.now()
    this.#records = { storage, body, remembered, nowMs: this.#startedMs }
    this.#steps = new StepRecords(storage, this.#startedMs)
    this.#seenStates = new SeenStates(cause, body, diffbaseStorage)
    this.#checkpoints = new Checkpoints({
      clock: call.clock,
      logger: call.logger,
      write: () => this.#writeCheckpoint(),
    })
    this.#visible = new VisibleState({
      initial: () => options.args().body,
      storeRecord: (id, patch) => storeProgress(id, progressOf(this.#state, id)!, { storage, body, patch }),
    })
    this.#visible.addPatch(options.before, { isCounted: false })
    this.#filters = new VisibleFilters({ visible: this.#visible, matchContextOf: options.matchContextOf })
    this.#calls = new CycleCalls(() => this.#visible.version)
    this.#input = this.#createInput(cause)
  }

  /** Whether all handlers have finished. */
  get isDone(): boolean {
    return isDone(this.#state)
  }

  /** When the next handler is due; undefined if all have finished. */
  get wakeAtMs(): number | undefined {
    return wakeAtMs(this.#state, this.#startedMs)
  }

  /** Whether any handler was called in this cycle. */
  get hasCalled(): boolean {
    return this.#calls.hasAny
  }

  /** Whether any handler has failed permanently. */
  get hasFailed(): boolean {
    return hasFailed(this.#state)
  }

  /** The records as they should be on the object, for objects whose schema drops them. */
  get progress(): ReadonlyMap<string, Progress> {
    const handlers = Array.from(this.#state.entries.entries(), ([id, { progress }]) => [id, progress] as const)
    return new Map([...handlers, ...this.#steps.entries()])
  }

  /** Whether there are neither handlers nor records: nothing is stored or purged. */
  get isIdle(): boolean {
    return this.#state.entries.size === 0
  }

  async run(reason: CycleReason): Promise<void> {
    this.#prepare(reason)
    if (this.isIdle) return
    for (;;) {
      const due = this.#isCutShort ? [] : this.#order(this.#due())
      for (const handler of due) {
        if (this.#isCutShort) break
        await this.#runIfMatching(handler)
        if (reason !== 'noop') this.#selectMore(reason)
      }
      if (due.length > 0) continue
      if (!this.isDone || !this.#reopen(reason)) break
    }
    if (this.#isCutShort) this.#hastenRepeats()
    this.#logResult(reason)
  }

  #prepare(reason: CycleReason): void {
    const { owned, body, remembered, call } = this.#options
    this.#state = readState(this.#input)
    for (const { id } of owned) this.#steps.read(progressOf(this.#state, id)?.subrefs ?? [], body, remembered)
    const { state, superseded } = plan(this.#state, this.#input, reason)
    this.#state = state
    for (const text of describeSuperseded(superseded, reason)) call.logger.info(text)
  }

  #createInput(cause: Cause): PlanInput {
    const { owned, matchContextOf, remembered, isHastened, call } = this.#options
    return {
      cause,
      owned,
      matchContextOf,
      seenStates: this.#seenStates,
      read: (id) => {
        const progress = readProgress(this.#records, id)
        return isHastened && progress?.delayedMs !== undefined ? { ...progress, delayedMs: undefined } : progress
      },
      isStep: (id) => this.#steps.isStep(id),
      isRemembered: remembered !== undefined,
      now: () => call.clock.now(),
    }
  }

  get #nowMs(): number {
    return this.#options.call.clock.now()
  }

  /** Handlers that are not called any more in this cycle are left to the next cycle, or to the next process. */
  get #isCutShort(): boolean {
    const { stopping, isPaused, isOutdated } = this.#options
    return stopping.aborted || isPaused() || this.#filters.hasFailed || this.#checkpoints.hasWritten || isOutdated()
  }

  #due(among?: Iterable<ChangeHandler>): ChangeHandler[] {
    const options = { calls: this.#calls, nowMs: this.#nowMs }
    return dueHandlers(this.#state, among === undefined ? options : { ...options, among })
  }

  #order(due: readonly ChangeHandler[]): readonly ChangeHandler[] {
    if (due.length === 0) return due
    const { lifecycle, random } = this.#options
    const retriesOf = ({ id }: DueHandler) => progressOf(this.#state, id)?.retries ?? 0
    return lifecycle(due, { retriesOf, random })
  }

  /** An earlier handler may have changed the object so that the filters do not match any more. */
  async #runIfMatching(handler: ChangeHandler): Promise<void> {
    if (this.#filters.matches(handler, causeOf(this.#state, this.#input, handler.id))) await this.#run(handler, [])
    else if (!this.#filters.hasFailed) this.#state = withoutHandler(this.#state, handler.id)
  }

  #selectMore(reason: HandlerReason): void {
    if (this.isDone || this.#isCutShort) return
    const { owned, cause } = this.#options
    this.#filters.selectAgain(owned, cause, (context) => {
      this.#state = selectMore(this.#state, this.#input, { reason, context, calls: this.#calls })
    })
  }

  #reopen(reason: CycleReason): boolean {
    const { state, ids } = reopen(this.#state, this.#input, { reason, calls: this.#calls })
    this.#state = state
    for (const id of ids) {
      this.#options.call.logger.debug(
        `Handler '${id}' has not seen the latest changes yet, and is called again with them.`,
      )
    }
    return ids.length > 0
  }

  /** The cycle ends early: handlers that would have been called again in it are called at the start of the next one. */
  #hastenRepeats(): void {
    for (const id of this.#calls.dueRepeats()) {
      this.#state = withProgress(this.#state, id, { ...progressOf(this.#state, id)!, delayedMs: this.#nowMs })
    }
  }

  /** Not logged if no handler was called, for example while an object that is being deleted waits for its daemons. */
  #logResult(reason: CycleReason): void {
    if (reason === 'noop' || !this.isDone || !this.hasCalled || this.#state.selected.size === 0) return
    const ids = new Set(this.#options.owned.map(({ id }) => id))
    const { success, failure } = countOutcomes(this.#state, reason, ids)
    this.#options.call.logger.info(`${titles[reason]} is processed: ${success} succeeded; ${failure} failed.`)
  }

  async #writeCheckpoint(): Promise<'written' | 'gone'> {
    this.#visible.beginWrite()
    const response = await this.#options.writeCheckpoint(this)
    if (response === undefined) return 'gone'
    this.#visible.endWrite(response)
    return 'written'
  }

  /** Puts the records of unfinished handlers into the patch, for the next cycle, the next process, or Kopf. */
  store(body: KubeObject, patch: JsonObject): void {
    this.#addSubrefs()
    this.#steps.store(body, patch)
    for (const id of this.#calls.finished) {
      this.#state = withProgress(this.#state, id, { ...progressOf(this.#state, id)!, seen: this.#seenStates.current })
    }
    storeState(this.#state, { storage: this.#records.storage, body, patch })
    const seen = new Set(Array.from(this.#state.entries.entries()).flatMap(([, { progress }]) => progress.seen ?? []))
    this.#seenStates.store(seen, body, patch)
  }

  /**
   * Lists the ids of sub-handlers and steps in the records of running handlers, so that another process that finishes the handling can purge
   * them.
   */
  #addSubrefs(): void {
    for (const [id, subrefs] of this.#calls.running) {
      if (subrefs.size === 0) continue
      const progress = progressOf(this.#state, id)!
      const all = [...new Set([...progress.subrefs, ...subrefs])].sort()
      this.#state = withProgress(this.#state, id, { ...progress, subrefs: all })
    }
  }

  /** Removes all records of the handling from the object. */
  purge(body: KubeObject, patch: JsonObject): void {
    this.#steps.purge(body, patch)
    const ids = this.#options.owned.map(({ id }) => id)
    purgeState(this.#state, ids, { storage: this.#records.storage, body, patch })
    this.#seenStates.purge(body, patch)
  }

  /** The collected changes are written. */
  clearWritten(): void {
    for (const key of Object.keys(this.merge)) delete this.merge[key]
    this.fns.length = 0
    this.authors.clear()
  }

  /** `lineage`: the ids of the records of each handler above this one, which grow while it runs. */
  async #run(handler: ChangeHandler, lineage: readonly Set<string>[]): Promise<void> {
    const { call, signal, body } = this.#options
    const subrefs = new Set<string>()
    const family = [...lineage, subrefs]
    const cause = causeOf(this.#state, this.#input, handler.id)
    const isRepeated = this.#calls.begin(handler.id, subrefs)
    const progress = progressOf(this.#state, handler.id)!
    if (isRepeated)
      call.logger.debug(`Handler '${handler.id}' is called again: other handlers have changed the object.`)
    const patch = createPatch<KubeObject>()
    const children = new Subhandlers(handler, (declared) => {
      this.#visible.addPatch(collectPatch(this, handler, patch), { isCounted: !isRepeated })
      return this.#subhandlerCalls({ cause, seen: progress.seen }, family).run(declared)
    })
    const seen = this.#seen()
    const { tracing } = call
    const journal = this.#journalOf(progress, family)
    const steps = new Steps({ id: handler.id, body, journal, names: children.names, tracing })
    const called = callHandler(call, handler, {
      start: { ...progress, isRepeated },
      body: () => seen().body,
      patch,
      args: (own) =>
        withSeen(
          assignAll(
            this.#options.args(),
            causeArgs(this.#options.matchContextOf(cause), handler),
            children.args,
            steps.args,
            own,
            { signal },
          ),
          this.#visible.isInitial ? undefined : seen,
        ),
      finish: async (result) => {
        await children.finish()
        await steps.finish()
        return result
      },
      isInterruption: (error) => signal.aborted && (error === signal.reason || isAbort(error)),
    })
    const { outcome, isInterrupted } = await this.#checkpoints.during(called.finally(() => steps.settle()))
    this.#end(handler, { outcome, isInterrupted, isRepeated, patch, subrefs })
  }

  #end(handler: ChangeHandler, { outcome, isInterrupted, isRepeated, patch, subrefs }: EndedCall): void {
    const collected = collectHandlerPatch(this, { handler, patch, outcome })
    // The operator stopped the handler: the attempt does not count, and the next process repeats it.
    if (isInterrupted) return
    const { id } = handler
    this.#state = withOutcome(this.#state, id, outcome, { nowMs: this.#nowMs, isRepeated, subrefs })
    this.#forgetSteps(id)
    // Changes by repeated calls that ask for a retry again do not count: two such handlers would call each other forever.
    this.#visible.addPatch(collected, { isCounted: !(isRepeated && outcome.type === 'retry') })
    this.#visible.recordAttempt(id)
    if (asksForRetry(outcome)) this.#calls.requestRetry(id)
    if (outcome.type !== 'retry') this.#checkpoints.add({ isStep: false })
  }

  /** The results of steps are not needed after their handler has finished: their records are purged. */
  #forgetSteps(id: string): void {
    const progress = progressOf(this.#state, id)!
    const isFinal = isFinished(progress)
    this.#calls.end(id, { isFinal })
    if (isFinal) this.#steps.forget(progress.subrefs)
    const subrefs = progress.subrefs.filter((one) => !this.#steps.isForgotten(one))
    this.#state = withProgress(this.#state, id, { ...progress, subrefs })
  }

  /** The object as one call sees it: computed when the call reads it first. */
  #seen(): () => BodyArguments {
    return lazy(() => {
      const { changed } = this.#visible
      return changed === undefined ? this.#options.args() : bodyArgs(changed)
    })
  }

  #subhandlerCalls(parent: ParentCall, lineage: readonly Set<string>[]): SubhandlerCalls {
    return new SubhandlerCalls({
      filters: this.#filters,
      cause: parent.cause,
      lineage,
      now: () => this.#nowMs,
      progressOf: (id) => progressOf(this.#state, id)!,
      hasRequestedRetry: (id) => this.#calls.hasRequestedRetry(id),
      admit: (child) => {
        this.#state = admitSubhandler(this.#state, this.#input, { child, parent, calls: this.#calls })
      },
      drop: (child) => {
        this.#state = withoutHandler(this.#state, child.id)
      },
      next: (selected) => this.#order(this.#due(selected)),
      run: (child) => this.#run(child, lineage),
      status: () => this.#seen()().status,
    })
  }

  /** The results of the steps of one call. `family`: the ids of the records of its handler, and of those above it. */
  #journalOf(run: Progress, family: readonly Set<string>[]): StepJournal {
    const { seal } = this.#options
    return {
      open: () => seal.open(),
      recall: (key) => this.#steps.recall(key, run, seal),
      note: (key, result) => {
        for (const subrefs of family) subrefs.add(key)
        this.#steps.note(key, run, { result, nowMs: this.#nowMs, seal })
        this.#checkpoints.add({ isStep: true })
      },
      commit: () => this.#checkpoints.commit(),
    }
  }
}

interface EndedCall {
  readonly outcome: Outcome
  readonly isInterrupted: boolean
  readonly isRepeated: boolean
  readonly patch: Patch<KubeObject>
  readonly subrefs: ReadonlySet<string>
}

/** The log lines about handlers that were started for another reason. */
export function describeSuperseded(superseded: ReturnType<typeof plan>['superseded'], reason: CycleReason): string[] {
  if (reason === 'noop') return []
  return Array.from(
    superseded,
    ([other, { success, failure, running }]) =>
      `${titles[other]} is superseded by ${titles[reason].toLowerCase()}: ` +
      `${success} succeeded; ${failure} failed; ${running} left to the moment.`,
  )
}

/**
 * The arguments of a handler that describe the cause; for a field handler, of its field alone. They are frozen like the body, because
 * the same essence is stored as the last handled state.
 */
export function causeArgs(
  { reason, old, new: current, diff = [] }: Pick<MatchContext, 'reason' | 'old' | 'new' | 'diff'>,
  { field }: Pick<ChangeHandler, 'field'>,
): object {
  for (const value of [old, current, diff]) deepFreeze(value)
  if (field === undefined) return { reason, old, new: current, diff }
  return {
    reason,
    old: resolvePath(old, field) ?? undefined,
    new: resolvePath(current, field) ?? undefined,
    diff: reduceDiff(diff, field),
  }
}
