/**
 * The steps of one call of a reconciler: written before the next one begins, and forgotten in the same write as what else the
 * reconciler wants, or with the finalizer. Such writes are no reason to call anybody: records are no part of any state that is
 * compared. Called by reconciling.ts.
 */
import { Meanwhile } from '../core/handling/meanwhile.ts'
import type { Outcome } from '../core/handling/outcomes.ts'
import type { Wishes } from '../core/handling/results.ts'
import { Steps } from '../core/handling/steps.ts'
import { TemporaryError } from '../errors.ts'
import { purgeSteps, refuseSteps, StepRun, whyNoSteps } from '../features/reconciling/step-run.ts'
import type { JsonObject } from '../kube/objects.ts'
import { once } from '../util/once.ts'
import { confirm } from './confirm.ts'
import type { Memory } from './memories.ts'
import type { Turn } from './reconciling.ts'
import type { Runtime } from './runtime.ts'
import { writeWish } from './writing.ts'

export interface CallSteps {
  /** The arguments that belong to it. */
  readonly args: object
  /** For as long as the call takes. */
  during(call: Promise<Outcome>): Promise<Outcome>
  /** Those that nobody has waited for are a part of the call, too. */
  finish(): Promise<void>
  /** Whatever is to be written of them is written with the wishes. */
  settle(outcome: Outcome, wishes: Wishes, write: () => Promise<void>): Promise<void>
}

export function createSteps(runtime: Runtime, memory: Memory, turn: Turn): CallSteps {
  const why = whyNoSteps(turn.handler, memory.served.handlers.change)
  if (why === undefined) return new KeptSteps(runtime, memory, turn)
  return {
    args: refuseSteps(turn.handler, why),
    during: (call) => call,
    finish: async () => {},
    settle: (_outcome, _wishes, write) => write(),
  }
}

/** The object goes, or is none of our business any more: nobody will ask for their results. */
export function forgetSteps({ settings }: Runtime, { served, body }: Memory, patch: JsonObject): void {
  const { change, reconcile } = served.handlers
  for (const handler of reconcile) {
    if (whyNoSteps(handler, change) === undefined) {
      purgeSteps(settings.persistence.progressStorage, handler.id, body, patch)
    }
  }
}

class KeptSteps implements CallSteps {
  readonly args: object
  readonly #runtime: Runtime
  readonly #memory: Memory
  readonly #turn: Turn
  readonly #meanwhile: Meanwhile
  readonly #steps: Steps

  constructor(runtime: Runtime, memory: Memory, turn: Turn) {
    const { handler, view, logger, reconciliation } = turn
    const { clock } = runtime
    this.#runtime = runtime
    this.#memory = memory
    this.#turn = turn
    this.#meanwhile = new Meanwhile({ clock, logger, write: () => this.#write() })
    if (reconciliation.steps?.deleting !== view.deleting) this.#read()
    if (this.#run.isUnwritten) this.#meanwhile.note({ isStep: true })
    const seal = runtime.stepKeys.sealOf(memory, { type: 'reconcile', body: view.body, logger })
    const journal = {
      open: once(async () => {
        await seal.open()
        await this.#open()
      }),
      recall: (key: string) => this.#run.recall(key, seal),
      note: (key: string, result: string) => {
        this.#run.note(key, { result, nowMs: clock.now(), seal })
        this.#meanwhile.note({ isStep: true })
      },
      commit: () => this.#meanwhile.commit(),
    }
    this.#steps = new Steps({ id: handler.id, body: view.body, journal, names: new Map() })
    this.args = this.#steps.args
  }

  during(call: Promise<Outcome>): Promise<Outcome> {
    return this.#meanwhile.during(call.finally(() => this.#steps.settle()))
  }

  finish(): Promise<void> {
    return this.#steps.finish()
  }

  /** Of an object that goes they are kept until it is let go: it may have to be called again for what is left to be done. */
  async settle(outcome: Outcome, { merge }: Wishes, write: () => Promise<void>): Promise<void> {
    const { handler, reconciliation, view } = this.#turn
    const { settings, writing } = this.#runtime
    // What was interrupted is not done, and nothing can be written of it.
    if (writing.aborted) return write()
    const isOver = outcome.type === 'done' && !view.deleting
    if (isOver) purgeSteps(settings.persistence.progressStorage, handler.id, this.#memory.body, merge)
    else if (this.#run.isUnwritten) this.#run.store(this.#memory.body, merge)
    await write()
    this.#run.isUnwritten = false
    if (isOver) reconciliation.steps = undefined
  }

  get #run(): StepRun {
    return this.#turn.reconciliation.steps!
  }

  /** From the object as it is known now. */
  #read(): void {
    const { handler, reconciliation, view } = this.#turn
    const { settings, clock } = this.#runtime
    const storage = settings.persistence.progressStorage
    const { body } = this.#memory
    reconciliation.steps = new StepRun({ id: handler.id, storage, body, deleting: view.deleting, nowMs: clock.now() })
  }

  /** After a hand-over, what the former leader has written of them may not be known yet. */
  async #open(): Promise<void> {
    const found = await confirm(this.#runtime, this.#memory)
    if (found === 'gone') throw new TemporaryError('The results of steps cannot be known: the object is gone')
    if (found === 'newer') this.#read()
  }

  async #write(): Promise<'written' | 'gone'> {
    const run = this.#run
    const { body: known } = this.#memory
    const merge: JsonObject = {}
    run.store(known, merge)
    run.isUnwritten = false
    try {
      const { body } = await writeWish(this.#runtime, this.#memory, { logger: this.#turn.logger, merge, fns: [] })
      if (body !== undefined) return 'written'
      this.#memory.vanishedAt = this.#memory.body.metadata.resourceVersion
      return 'gone'
    } catch (error) {
      run.isUnwritten = true
      throw error
    }
  }
}
