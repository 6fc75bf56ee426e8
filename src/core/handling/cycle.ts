/**
 * One handling of one object: all handlers that are due, one after the other, and what is to be written then.
 * All of them see the object as it was at the beginning; when one takes so long that something is written meanwhile, those
 * after it are left to the next cycle, which sees it. Called by running/changes.ts, which writes the outcome.
 * Who is called, and what for, is the matter of agenda.ts.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { toMs } from '../../util/duration.ts'
import { deepFreeze } from '../../util/frozen.ts'
import { join } from '../../util/join.ts'
import type { HandlerReason } from '../causation/causes.ts'
import { reduceDiff } from '../causation/diff.ts'
import { createPatch, type PatchFunction } from '../patching/patch.ts'
import { Agenda, type AgendaOptions } from './agenda.ts'
import { type Cause, titles } from './cause.ts'
import { createConditions } from './conditions.ts'
import { resolveField } from './filters.ts'
import type { Handler } from './handler.ts'
import { attempt, type CallWatch, type InvokeOptions } from './invoke.ts'
import type { Lifecycle } from './lifecycles.ts'
import { Meanwhile } from './meanwhile.ts'
import { ChildrenRetry, isAbort } from './outcomes.ts'
import { isFinished, type Progress, withOutcome } from './progress.ts'
import { checkResult, collectWish, type Wishes } from './results.ts'
import { selectHandlers } from './select.ts'
import type { StepSeal } from './step-ledger.ts'
import { type StepJournal, Steps } from './steps.ts'
import { Subhandling } from './subhandling.ts'

export interface CycleOptions extends AgendaOptions {
  /** Signs the results of steps, and verifies those that are on the object. */
  readonly seal: StepSeal
  /** What all handlers of this object are given. */
  readonly args: () => object
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
  /** Writes what there is so far, while a handler is running. */
  readonly flush: (cycle: Cycle) => Promise<'written' | 'gone'>
}

export class Cycle implements Wishes {
  /** What the handlers want to be different, in the order they finished. */
  readonly merge: JsonObject = {}
  readonly fns: PatchFunction<KubeObject>[] = []

  readonly #options: CycleOptions
  readonly #agenda: Agenda
  readonly #invoke: InvokeOptions
  readonly #meanwhile: Meanwhile

  constructor(options: CycleOptions) {
    const { settings, clock, logger, watch } = options
    this.#options = options
    this.#agenda = new Agenda(options)
    const defaultBackoffMs = toMs(settings.execution.defaultBackoff)
    this.#invoke = { clock, logger, watch, defaultBackoffMs }
    this.#meanwhile = new Meanwhile({ clock, logger, write: () => options.flush(this) })
  }

  get isDone(): boolean {
    return this.#agenda.ledger.isDone
  }

  get wakeAtMs(): number | undefined {
    return this.#agenda.ledger.wakeAtMs()
  }

  /** Whether any handler was called for the state at hand. */
  get hasCalled(): boolean {
    return this.#agenda.hasCalled
  }

  /** Whether any handler has failed for good. */
  get hasFailed(): boolean {
    return [...this.#agenda.ledger.entries()].some(([, { failure }]) => failure)
  }

  /** For objects that do not keep what is stored on them. */
  get progress(): ReadonlyMap<string, Progress> {
    return new Map([...this.#agenda.ledger.entries(), ...this.#agenda.steps.entries()])
  }

  /** Without any records and without any handler there is nothing to do, and nothing to be undone. */
  get isIdle(): boolean {
    return this.#agenda.ledger.isEmpty
  }

  /** `noop` is for objects that are as they were handled: only what is left of earlier handlings is finished. */
  async run(reason: HandlerReason | 'noop'): Promise<void> {
    const agenda = this.#agenda
    agenda.prepare(reason)
    if (this.isIdle) return
    for (;;) {
      const planned = this.#isCutShort ? [] : this.#plan(agenda.due())
      for (const handler of planned) {
        if (!this.#isCutShort) await this.#run(handler, [])
      }
      if (planned.length > 0) continue
      if (!this.isDone || !agenda.reopen(reason)) break
    }
    // Not again for what was done before: of an object that is only waiting for its daemons to end.
    if (this.isDone && reason !== 'noop' && agenda.hasHandlers && this.hasCalled) {
      const { success, failure } = agenda.ledger.counts(reason)
      this.#options.logger.info(`${titles[reason]} is processed: ${success} succeeded; ${failure} failed.`)
    }
  }

  /** What is not done then is for the next process; or for the next cycle, which sees what this one has written already. */
  get #isCutShort(): boolean {
    const { stopping, isPaused, isOutdated } = this.#options
    return stopping.aborted || isPaused() || this.#meanwhile.hasWritten || isOutdated()
  }

  store(body: KubeObject, patch: JsonObject): void {
    this.#agenda.store(body, patch)
  }

  purge(body: KubeObject, patch: JsonObject): void {
    this.#agenda.purge(body, patch)
  }

  /** What was gathered has been written. */
  clearWritten(): void {
    for (const key of Object.keys(this.merge)) delete this.merge[key]
    this.fns.length = 0
  }

  #plan(due: readonly Handler[]): readonly Handler[] {
    if (due.length === 0) return due
    const { lifecycle, random } = this.#options
    return lifecycle(due, { retriesOf: ({ id }) => this.#agenda.ledger.get(id)?.retries ?? 0, random })
  }

  /** `lineage`: the records gathered for each handler this one is called from. */
  async #run(handler: Handler, lineage: readonly Set<string>[]): Promise<void> {
    const subrefs = new Set<string>()
    const family = [...lineage, subrefs]
    const { progress, cause } = this.#agenda.begin(handler, subrefs)
    const patch = createPatch<KubeObject>()
    const children = new Subhandling(handler, (declared) =>
      this.#runChildren(declared, { cause, seen: progress.seen }, family),
    )
    const { body, clock, signal } = this.#options
    let isInterrupted = false
    const steps = new Steps({ id: handler.id, body, journal: this.#journalOf(progress, family), names: children.names })
    const call = attempt(this.#invoke, handler, progress, {
      args: (retryArgs) =>
        join(this.#options.args(), causeArgs(cause, handler), retryArgs, children.args, steps.args, {
          param: handler.param,
          signal,
          patch,
          conditions: createConditions({ patch, body: () => body, clock, handler }),
        }),
      finish: async (result) => {
        await children.finish()
        await steps.finish()
        return checkResult(handler, patch, result)
      },
      isInterruption: (error) => {
        isInterrupted = signal.aborted && (error === signal.reason || isAbort(error))
        return isInterrupted
      },
    })
    const outcome = await this.#meanwhile.during(call.finally(() => steps.settle()))
    collectWish(this, { handler, patch, outcome })
    // It was us who had no more time: no attempt is used up, and the next process makes it anew.
    if (isInterrupted) return
    this.#agenda.end(handler, withOutcome(progress, outcome, { nowMs: clock.now(), seen: undefined, subrefs }))
    if (outcome.type !== 'retry') this.#meanwhile.note({ isStep: false })
  }

  /** Of the steps of one call; `family` are the records of its handler, and of those above it. */
  #journalOf(run: Progress, family: readonly Set<string>[]): StepJournal {
    const { steps } = this.#agenda
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

  /** `told`: what the parent was told; with `seen`, that was only the rest of a change. */
  async #runChildren(
    children: readonly Handler[],
    told: { readonly cause: Cause; readonly seen: string | undefined },
    lineage: readonly Set<string>[],
  ): Promise<void> {
    const selected = selectHandlers(children, this.#options.situationOf(told.cause))
    for (const child of selected) {
      for (const subrefs of lineage) subrefs.add(child.id)
      this.#agenda.admit(child, told)
    }
    for (let planned = this.#plan(this.#agenda.due(selected)); planned.length > 0; ) {
      for (const child of planned) await this.#run(child, lineage)
      planned = this.#plan(this.#agenda.due(selected))
    }
    const pending = selected.map(({ id }) => this.#agenda.ledger.get(id)!).filter((one) => !isFinished(one))
    if (pending.length === 0) return
    const nowMs = this.#options.clock.now()
    throw new ChildrenRetry(Math.max(0, Math.min(...pending.map(({ delayedMs = nowMs }) => delayedMs - nowMs))))
  }
}

/** Field handlers are told of their field alone. Frozen like the body: what is stored as handled is this very essence. */
export function causeArgs({ reason, old, new: current, diff }: Cause, { field }: Pick<Handler, 'field'>): object {
  for (const value of [old, current, diff]) deepFreeze(value)
  if (field === undefined) return { reason, old, new: current, diff }
  return {
    reason,
    old: resolveField(old, field) ?? undefined,
    new: resolveField(current, field) ?? undefined,
    diff: reduceDiff(diff, field),
  }
}
