/**
 * One handling of one object: all handlers that are due, one after the other, and what is to be written then.
 * Each handler sees the object as the handlers before it have changed it (visible-state.ts). When one takes so long that something is
 * written meanwhile, those after it are left to the next cycle. Called by objects/change-handling.ts, which writes the outcome.
 * Who is called, and what for, is the matter of plan.ts.
 */

import { type Cause, type HandlerReason, titles } from '../causation/cause.ts'
import { reduceDiff } from '../causation/diff.ts'
import { createConditions } from '../handlers/args/conditions.ts'
import { type BodyArguments, bodyArgs, type ObjectArguments, withSeen } from '../handlers/args/object-args.ts'
import type { Handler } from '../handlers/handler.ts'
import { attemptHandler, type CallWatch, type InvokeOptions } from '../handlers/invoke.ts'
import type { Lifecycle } from '../handlers/lifecycles.ts'
import type { MatchContext } from '../handlers/matching.ts'
import { asksForRetry, isAbort, type Outcome } from '../handlers/outcomes.ts'
import { type Progress, withOutcome } from '../handlers/progress.ts'
import { type CollectedPatch, checkResult, collectHandlerPatch, collectPatch } from '../handlers/results.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { createPatch, type PatchFunction } from '../patching/patch.ts'
import type { StepSeal } from '../steps/step-records.ts'
import { type StepJournal, Steps } from '../steps/steps.ts'
import { assignAll } from '../util/assign-all.ts'
import { deepFreeze } from '../util/json/deep-freeze.ts'
import { resolvePath } from '../util/json/paths.ts'
import { lazy } from '../util/lazy.ts'
import { toMs } from '../util/text/duration.ts'
import { Checkpoints } from './checkpoint.ts'
import { HandlingPlan, type HandlingPlanOptions } from './plan.ts'
import { SubhandlerCalls, type SubhandlerCallsOptions } from './subhandler-calls.ts'
import { Subhandlers } from './subhandlers.ts'
import { VisibleFilters } from './visible-filters.ts'
import { VisibleState } from './visible-state.ts'

export interface CycleOptions extends HandlingPlanOptions {
  /** What there is to judge a handler by, for any cause; of the object as the handlers before have changed it, if that is given. */
  readonly matchContextOf: (cause: Cause, changed?: KubeObject) => MatchContext
  /** Signs the results of steps, and verifies those that are on the object. */
  readonly seal: StepSeal
  /** What all handlers of this object are given. */
  readonly args: () => ObjectArguments
  /** What was wanted of the object before this cycle, and is written with its outcome. */
  readonly before: CollectedPatch
  readonly lifecycle: Lifecycle
  readonly random: () => number
  readonly watch: CallWatch
  readonly signal: AbortSignal
  /** Aborted when no further handler is to be called: what is not done then is for the next process. */
  readonly stopping: AbortSignal
  /** Whether that is so for a while: another operator may go on with it. */
  readonly isPaused: () => boolean
  /** Something was written since the cycle began, by whomever of ours. */
  readonly isOutdated: () => boolean
  /** Writes what there is so far, while a handler is running. Resolves with the server's answer; undefined where the object is gone. */
  readonly flush: (cycle: Cycle) => Promise<KubeObject | undefined>
}

export class Cycle implements CollectedPatch {
  /** What the handlers want to be different, in the order they finished. */
  readonly merge: JsonObject = {}
  readonly fns: PatchFunction<KubeObject>[] = []

  readonly #options: CycleOptions
  readonly #plan: HandlingPlan
  readonly #invoke: InvokeOptions
  readonly #meanwhile: Checkpoints
  readonly #visible: VisibleState
  readonly #filters: VisibleFilters

  constructor(options: CycleOptions) {
    const { settings, clock, logger, watch } = options
    this.#options = options
    this.#plan = new HandlingPlan(options)
    const defaultBackoffMs = toMs(settings.execution.defaultBackoff)
    this.#invoke = { clock, logger, watch, defaultBackoffMs }
    this.#meanwhile = new Checkpoints({ clock, logger, write: () => this.#flush() })
    this.#visible = new VisibleState({
      initial: () => options.args().body,
      storeRecord: (id, patch) => this.#plan.state.storeOne(id, options.body, patch),
    })
    this.#visible.addPatch(options.before, { isCounted: false })
    this.#filters = new VisibleFilters({ visible: this.#visible, matchContextOf: options.matchContextOf })
  }

  get isDone(): boolean {
    return this.#plan.state.isDone
  }

  get wakeAtMs(): number | undefined {
    return this.#plan.state.wakeAtMs()
  }

  /** Whether any handler was called for the state at hand. */
  get hasCalled(): boolean {
    return this.#plan.hasCalled
  }

  /** Whether any handler has failed for good. */
  get hasFailed(): boolean {
    return [...this.#plan.state.entries()].some(([, { failure }]) => failure)
  }

  /** For objects that do not keep what is stored on them. */
  get progress(): ReadonlyMap<string, Progress> {
    return new Map([...this.#plan.state.entries(), ...this.#plan.steps.entries()])
  }

  /** Without any records and without any handler there is nothing to do, and nothing to be undone. */
  get isIdle(): boolean {
    return this.#plan.state.isEmpty
  }

  /** `noop` is for objects that are as they were handled: only what is left of earlier handlings is finished. */
  async run(reason: HandlerReason | 'noop'): Promise<void> {
    const plan = this.#plan
    plan.prepare(reason)
    if (this.isIdle) return
    for (;;) {
      const planned = this.#isCutShort ? [] : this.#order(plan.due(this.#version))
      for (const handler of planned) {
        if (this.#isCutShort) break
        if (this.#filters.matches(handler, plan.causeOf(handler))) await this.#run(handler, [])
        else if (!this.#filters.hasFailed) plan.drop(handler)
        if (reason !== 'noop') this.#selectMore(reason)
      }
      if (planned.length > 0) continue
      if (!this.isDone || !plan.reopen(reason)) break
    }
    if (this.#isCutShort) plan.hastenAsked(this.#version)
    // Not again for what was done before: of an object that is only waiting for its daemons to end.
    if (this.isDone && reason !== 'noop' && plan.hasHandlers && this.hasCalled) {
      const ids = new Set(this.#options.owned.map(({ id }) => id))
      const { success, failure } = plan.state.counts(reason, ids)
      this.#options.logger.info(`${titles[reason]} is processed: ${success} succeeded; ${failure} failed.`)
    }
  }

  /** What is not done then is for the next process; or for the next cycle, which sees what this one has written already. */
  get #isCutShort(): boolean {
    const { stopping, isPaused, isOutdated } = this.#options
    return stopping.aborted || isPaused() || this.#filters.hasFailed || this.#meanwhile.hasWritten || isOutdated()
  }

  readonly #version = (): number => this.#visible.version

  async #flush(): Promise<'written' | 'gone'> {
    this.#visible.noteWrite()
    const answer = await this.#options.flush(this)
    if (answer === undefined) return 'gone'
    this.#visible.noteAnswer(answer)
    return 'written'
  }

  #selectMore(reason: HandlerReason): void {
    if (this.isDone || this.#isCutShort) return
    const { owned, cause } = this.#options
    this.#filters.selectAgain(owned, cause, (context) => this.#plan.selectMore(reason, context))
  }

  store(body: KubeObject, patch: JsonObject): void {
    this.#plan.store(body, patch)
  }

  purge(body: KubeObject, patch: JsonObject): void {
    this.#plan.purge(body, patch)
  }

  /** What was gathered has been written. */
  clearWritten(): void {
    for (const key of Object.keys(this.merge)) delete this.merge[key]
    this.fns.length = 0
  }

  #order(due: readonly Handler[]): readonly Handler[] {
    if (due.length === 0) return due
    const { lifecycle, random } = this.#options
    return lifecycle(due, { retriesOf: ({ id }) => this.#plan.state.get(id)?.retries ?? 0, random })
  }

  /** `lineage`: the records gathered for each handler this one is called from. */
  async #run(handler: Handler, lineage: readonly Set<string>[]): Promise<void> {
    const subrefs = new Set<string>()
    const family = [...lineage, subrefs]
    const cause = this.#plan.causeOf(handler)
    const { progress, isRepeated } = this.#plan.begin(handler, subrefs)
    if (isRepeated)
      this.#options.logger.debug(`Handler '${handler.id}' is called again: other handlers have changed the object.`)
    const patch = createPatch<KubeObject>()
    const children = new Subhandlers(handler, (declared) => {
      this.#visible.addPatch(collectPatch(this, handler, patch), { isCounted: !isRepeated })
      return this.#roundOf({ cause, seen: progress.seen }, family).play(declared)
    })
    const { body, clock, signal } = this.#options
    const seen = this.#seen()
    let isInterrupted = false
    const steps = new Steps({ id: handler.id, body, journal: this.#journalOf(progress, family), names: children.names })
    const call = attemptHandler(
      this.#invoke,
      handler,
      { ...progress, isRepeated },
      {
        args: (retryArgs) =>
          withSeen(
            assignAll(
              this.#options.args(),
              causeArgs(this.#options.matchContextOf(cause), handler),
              retryArgs,
              children.args,
              steps.args,
              {
                param: handler.param,
                signal,
                patch,
                conditions: createConditions({ patch, body: () => seen().body, clock, handler }),
              },
            ),
            this.#visible.isInitial ? undefined : seen,
          ),
        finish: async (result) => {
          await children.finish()
          await steps.finish()
          return checkResult(handler, patch, result)
        },
        isInterruption: (error) => {
          isInterrupted = signal.aborted && (error === signal.reason || isAbort(error))
          return isInterrupted
        },
      },
    )
    const outcome = await this.#meanwhile.during(call.finally(() => steps.settle()))
    const collected = collectHandlerPatch(this, { handler, patch, outcome })
    // It was us who had no more time: no attempt is used up, and the next process makes it anew.
    if (isInterrupted) return
    this.#plan.end(
      handler,
      withOutcome(progress, outcome, { nowMs: clock.now(), isRepeated, seen: undefined, subrefs }),
    )
    // Changes by repeated calls that ask for a retry again do not count: two such handlers would call each other forever.
    this.#visible.addPatch(collected, { isCounted: !(isRepeated && outcome.type === 'retry') })
    this.#visible.noteEnd(handler.id)
    this.#noteOutcome(handler, outcome)
  }

  #noteOutcome(handler: Handler, outcome: Outcome): void {
    if (asksForRetry(outcome)) this.#plan.noteAsked(handler, this.#visible.version)
    if (outcome.type !== 'retry') this.#meanwhile.note({ isStep: false })
  }

  /** The object as one call sees it: as it is when the call looks at it first. */
  #seen(): () => BodyArguments {
    return lazy(() => {
      const { changed } = this.#visible
      return changed === undefined ? this.#options.args() : bodyArgs(changed)
    })
  }

  #roundOf(parent: SubhandlerCallsOptions['parent'], lineage: readonly Set<string>[]): SubhandlerCalls {
    return new SubhandlerCalls({
      plan: this.#plan,
      filters: this.#filters,
      parent,
      lineage,
      now: () => this.#options.clock.now(),
      order: (selected) => this.#order(this.#plan.due(this.#version, selected)),
      run: (child) => this.#run(child, lineage),
      status: () => this.#seen()().status,
    })
  }

  /** Of the steps of one call; `family` are the records of its handler, and of those above it. */
  #journalOf(run: Progress, family: readonly Set<string>[]): StepJournal {
    const { steps } = this.#plan
    const { seal } = this.#options
    return {
      open: () => seal.open(),
      recall: (key) => steps.recall(key, run, seal),
      note: (key, result) => {
        for (const subrefs of family) subrefs.add(key)
        steps.note(key, run, { result, nowMs: this.#options.clock.now(), seal })
        this.#meanwhile.note({ isStep: true })
      },
      commit: () => this.#meanwhile.commit(),
    }
  }
}

/**
 * The arguments of a handler that describe the cause; for a field handler, of its field alone. They are frozen like the body, because
 * the same essence is stored as the last handled state.
 */
export function causeArgs(
  { reason, old, new: current, diff = [] }: Pick<MatchContext, 'reason' | 'old' | 'new' | 'diff'>,
  { field }: Pick<Handler, 'field'>,
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
