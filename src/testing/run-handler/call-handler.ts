/**
 * Calls one handler and the sub-handlers that it declares. Filters, arguments, the call and its outcome are the same as in a
 * running operator; patches, logs and events are recorded instead of written.
 */

import { causeArgs } from '../../changes/cycle.ts'
import { Subhandlers } from '../../changes/subhandlers.ts'
import { VisibleState } from '../../changes/visible-state.ts'
import type { SubhandlerOutcome } from '../../handlers/args/call-parts.ts'
import { bodyArgs } from '../../handlers/args/object-args.ts'
import type { CallArgument } from '../../handlers/definition.ts'
import type { ChangeHandler, Handler } from '../../handlers/handler.ts'
import { type CallContext, callHandler, type OwnArgs } from '../../handlers/invoke.ts'
import { type MatchContext, selectHandlers, whyNot } from '../../handlers/matching.ts'
import { ChildrenRetry, type Outcome } from '../../handlers/outcomes.ts'
import {
  type CollectedPatch,
  checkResult,
  collectHandlerPatch,
  collectPatch,
  createCollectedPatch,
} from '../../handlers/results.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { createPatch } from '../../patching/patch.ts'
import { refusedSteps } from '../../reconciling/test-run.ts'
import { type StepJournal, Steps } from '../../steps/steps.ts'
import { assignAll } from '../../util/assign-all.ts'
import type { Clock } from '../../util/async/clock.ts'
import { describeError } from '../../util/log/describe-error.ts'
import type { Logger } from '../../util/log/log.ts'
import type { AnyOptions, TestObject } from './make-object.ts'

export interface CallHandlerOptions {
  readonly options: AnyOptions
  /** The arguments that all handlers get. */
  readonly args: () => object
  /** Undefined for activity handlers, which have no object and no filters. */
  readonly situation: MatchContext | undefined
  readonly cause: TestObject['cause'] | undefined
  readonly clock: Clock
  readonly logger: Logger
  readonly defaultBackoffMs: number
  /** Converts the return value of a reconciler into the children that would be applied; throws if the framework would reject it. */
  readonly readReconciled: (result: unknown) => unknown
}

/** A call watch that does nothing: the test has its own time limit. */
const watch: CallContext['watch'] = { begin: () => ({ returned: () => {}, settled: () => {} }) }

/** A step journal without records: the test makes one attempt, so there are no earlier steps and nothing to store. */
const journal: StepJournal = { recall: () => undefined, note: () => {}, commit: async () => {} }

export class HandlerCaller {
  readonly collected: CollectedPatch = createCollectedPatch()
  /** By handler id. */
  readonly outcomes: Map<string, Outcome> = new Map()
  readonly #given: CallHandlerOptions
  readonly #visible: VisibleState

  constructor(given: CallHandlerOptions) {
    this.#given = given
    this.#visible = new VisibleState({
      initial: () => (given.args() as { body: KubeObject }).body,
      storeRecord: () => {},
    })
  }

  /** Returns the reason why the handler is not called; undefined if it is called. */
  whyNot(handler: Handler): string | undefined {
    const { situation: context, options } = this.#given
    return whyNotReviewed(handler, options) ?? (context && whyNot(handler, context))
  }

  async call(handler: Handler, retries: number = 0): Promise<Outcome> {
    const { clock, logger, defaultBackoffMs, options, situation } = this.#given
    const patch = createPatch<KubeObject>()
    const children = new Subhandlers(handler, (declared) => {
      this.#visible.addPatch(collectPatch(this.collected, handler, patch), { isCounted: false })
      return this.#callAll(declared)
    })
    // Activity handlers have no object: the empty body is not used by them.
    const body = this.#visible.changed ?? situation?.body ?? ({ metadata: {} } as KubeObject)
    const steps = new Steps({ id: handler.id, body, journal, names: children.names, tracing: undefined })
    const stepArgs = refusedSteps(handler) ?? steps.args
    const startedMs = options.started?.getTime() ?? clock.now()
    const context = {
      clock,
      logger,
      watch,
      defaultBackoffMs,
      observer: undefined,
      tracing: undefined,
      object: undefined,
    }
    const { outcome } = await callHandler(context, handler, {
      start: { startedMs, retries },
      body: () => body,
      patch,
      args: (own) => this.#argsOf(handler, own, { ...children.args, ...stepArgs }),
      finish: async (result) => {
        await children.finish()
        await steps.finish()
        if (handler.category !== 'reconcile') return result
        checkResult(handler, patch, undefined)
        return this.#given.readReconciled(result)
      },
    })
    await steps.settle()
    this.outcomes.set(handler.id, outcome)
    // The return value of a reconciler is not written to the status.
    const written: Outcome = handler.definition.result === 'status' ? outcome : { type: 'done', result: undefined }
    if (keepsPatch(handler, outcome)) {
      this.#visible.addPatch(collectHandlerPatch(this.collected, { handler, patch, outcome: written }), {
        isCounted: false,
      })
    }
    return outcome
  }

  /** The arguments that a running operator passes to handlers of this category. */
  #argsOf(handler: Handler, own: OwnArgs, parts: Readonly<Record<string, unknown>>): object {
    const { args, cause } = this.#given
    const passed = Object.entries(parts).filter(([name]) => handler.definition.args.includes(name as CallArgument))
    const ofCause = handler.category === 'change' && cause !== undefined ? causeArgs(cause, handler) : {}
    const ofVersions = handler.category === 'conversion' ? handler.conversion : {}
    const { changed } = this.#visible
    const ofBody = changed === undefined ? {} : bodyArgs(changed)
    return assignAll(args(), ofBody, ofCause, own, Object.fromEntries(passed), ofVersions)
  }

  /** Calls the sub-handlers. As in an operator, the parent is retried while any sub-handler has not finished. */
  async #callAll(children: readonly ChangeHandler[]): Promise<SubhandlerOutcome[]> {
    const outcomes: SubhandlerOutcome[] = []
    const delays: number[] = []
    for (const child of selectHandlers(children, this.#given.situation!)) {
      const outcome = await this.call(child)
      if (outcome.type === 'retry') delays.push(outcome.delayMs)
      else outcomes.push(toSubhandlerOutcome(child, outcome))
    }
    if (delays.length > 0) throw new ChildrenRetry(Math.min(...delays), { hasAsked: false })
    return outcomes
  }
}

/** Returns why the API server would not call an admission handler, according to the webhook configuration for its options. */
function whyNotReviewed(handler: Handler, { operation, subresource, old }: AnyOptions): string | undefined {
  if (handler.category !== 'admission') return undefined
  const { admission } = handler
  const asked = operation ?? (old === undefined ? 'CREATE' : 'UPDATE')
  if (admission.operations !== undefined && !admission.operations.includes(asked)) {
    return `It is for ${admission.operations.join(' and ')}, and this is ${asked}`
  }
  if (admission.subresource === '*' || admission.subresource === subresource) return undefined
  return `It is for ${admission.subresource ?? 'the object itself'}, and this is for ${subresource ?? 'the object itself'}`
}

function toSubhandlerOutcome({ id }: Handler, outcome: Outcome): SubhandlerOutcome {
  const succeeded = outcome.type === 'done'
  const message = outcome.type === 'failed' ? describeError(outcome.error) : undefined
  return { id, succeeded, result: succeeded ? outcome.result : undefined, message, attempts: 1 }
}

function keepsPatch(handler: Handler, outcome: Outcome): boolean {
  const { definition } = handler
  return definition.args.includes('patch') && (definition.keepsPatch?.(handler, outcome) ?? true)
}
