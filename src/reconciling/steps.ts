/**
 * The steps of one reconciler call. Each result is written to the object before the next step begins, and purged by a successful call or with the
 * finalizer. These writes trigger no reconciler, since the state digest ignores the records. Called by object-reconcilers.ts.
 */
import { Checkpoints } from '../changes/checkpoint.ts'
import { TemporaryError } from '../errors.ts'
import type { Outcome } from '../handlers/outcomes.ts'
import { type CollectedPatch, createCollectedPatch } from '../handlers/results.ts'
import type { JsonObject } from '../kube/objects.ts'
import type { Context } from '../objects/context.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { readAfterTakeover } from '../objects/take-over.ts'
import { writePatch } from '../objects/writes.ts'
import { purgeSteps, ReconcileSteps, refuseSteps, whyNoSteps } from '../steps/step-run.ts'
import { Steps } from '../steps/steps.ts'
import { lazy } from '../util/lazy.ts'
import type { ReconcilerCall } from './object-reconcilers.ts'

export interface CallSteps {
  /** The step functions among the arguments of the handler. */
  readonly args: object
  /** Waits for the call, and writes results of steps while it runs. */
  during<T>(call: Promise<T>): Promise<T>
  /** Waits for steps that the reconciler did not await. */
  finish(): Promise<void>
  /** Adds the records of the steps, or their removal, to the patch and calls `write`. */
  settle(outcome: Outcome, patch: CollectedPatch, write: () => Promise<void>): Promise<void>
}

export function createSteps(context: Context, object: WatchedObject, call: ReconcilerCall): CallSteps {
  const why = whyNoSteps(call.handler, object.served.handlers.change)
  if (why === undefined) return new StoredSteps(context, object, call)
  return {
    args: refuseSteps(call.handler, why),
    during: (call) => call,
    finish: async () => {},
    settle: (_outcome, _patch, write) => write(),
  }
}

/** Called when the finalizer is removed: purges the results of steps of all reconcilers. */
export function forgetSteps({ settings }: Context, { served, body }: WatchedObject, patch: JsonObject): void {
  const { change, reconcile } = served.handlers
  for (const handler of reconcile) {
    if (whyNoSteps(handler, change) === undefined) {
      purgeSteps(settings.persistence.progressStorage, handler.id, body, patch)
    }
  }
}

class StoredSteps implements CallSteps {
  readonly args: object
  readonly #context: Context
  readonly #object: WatchedObject
  readonly #call: ReconcilerCall
  readonly #checkpoints: Checkpoints
  readonly #steps: Steps

  constructor(context: Context, object: WatchedObject, call: ReconcilerCall) {
    const { handler, cause, logger, state } = call
    const { clock } = context
    this.#context = context
    this.#object = object
    this.#call = call
    this.#checkpoints = new Checkpoints({ clock, logger, write: () => this.#write() })
    if (state.steps?.deleting !== cause.deleting) this.#read()
    if (this.#run.isUnwritten) this.#checkpoints.add({ isStep: true })
    const seal = context.stepKeys.sealOf(object, { type: 'reconcile', body: cause.body, logger })
    const journal = {
      open: lazy(async () => {
        await seal.open()
        await this.#open()
      }),
      recall: (key: string) => this.#run.recall(key, seal),
      note: (key: string, result: string) => {
        this.#run.record(key, { result, nowMs: clock.now(), seal })
        this.#checkpoints.add({ isStep: true })
      },
      commit: () => this.#checkpoints.commit(),
    }
    this.#steps = new Steps({
      id: handler.id,
      body: cause.body,
      journal,
      names: new Map(),
      tracing: context.tracing,
    })
    this.args = this.#steps.args
  }

  during<T>(call: Promise<T>): Promise<T> {
    return this.#checkpoints.during(call.finally(() => this.#steps.settle()))
  }

  finish(): Promise<void> {
    return this.#steps.finish()
  }

  /** During a deletion the records stay until the finalizer is removed, since the reconciler may be called again. */
  async settle(outcome: Outcome, { merge }: CollectedPatch, write: () => Promise<void>): Promise<void> {
    const { handler, state, cause } = this.#call
    const { settings, writesSignal: writing } = this.#context
    // The operator is stopping and cannot write any more: the call counts as interrupted, and its records stay.
    if (writing.aborted) return write()
    const isOver = outcome.type === 'done' && !cause.deleting
    if (isOver) purgeSteps(settings.persistence.progressStorage, handler.id, this.#object.body, merge)
    else if (this.#run.isUnwritten) this.#run.store(this.#object.body, merge)
    await write()
    this.#run.isUnwritten = false
    if (isOver) state.steps = undefined
  }

  get #run(): ReconcileSteps {
    return this.#call.state.steps!
  }

  /** Reads the records from the newest known state. */
  #read(): void {
    const { handler, state, cause } = this.#call
    const { settings, clock } = this.#context
    const storage = settings.persistence.progressStorage
    const { body } = this.#object
    state.steps = new ReconcileSteps({ id: handler.id, storage, body, deleting: cause.deleting, nowMs: clock.now() })
  }

  /** Reads the object first after a change of the leader: the watch may not have delivered the records of the former leader yet. */
  async #open(): Promise<void> {
    const found = await readAfterTakeover(this.#context, this.#object)
    if (found === 'not-found') throw new TemporaryError('Cannot read the results of steps: the object does not exist')
    if (found === 'newer') this.#read()
  }

  async #write(): Promise<'written' | 'gone'> {
    const run = this.#run
    const { body: known } = this.#object
    const merge: JsonObject = {}
    run.store(known, merge)
    run.isUnwritten = false
    try {
      const { logger } = this.#call
      const patch = { ...createCollectedPatch(), merge }
      const { body } = await writePatch(this.#context, this.#object, { logger, patch, purpose: 'checkpoint' })
      return body === undefined ? 'gone' : 'written'
    } catch (error) {
      run.isUnwritten = true
      throw error
    }
  }
}
