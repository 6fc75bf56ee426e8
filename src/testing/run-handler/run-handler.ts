/**
 * `runHandler`: calls a single handler without a cluster. Prepares the object, the arguments and the recorders for
 * call-handler.ts, and reports the results.
 */

import { diffValues } from '../../causation/diff.ts'
import type { Client } from '../../client/client.ts'
import { KopfError } from '../../errors.ts'
import type { Memo } from '../../handlers/args/args.ts'
import { objectArgs } from '../../handlers/args/object-args.ts'
import type { Handler, ReconcileHandler } from '../../handlers/handler.ts'
import type { Outcome } from '../../handlers/outcomes.ts'
import type { CustomResource, ObjectOf, ResourceLike } from '../../kube/resources/resources.ts'
import { toSelector } from '../../kube/resources/selectors.ts'
import type { Operator } from '../../operator.ts'
import { internalsOf } from '../../operator-internals.ts'
import { runFunctions } from '../../patching/plan-patch.ts'
import { type ReconcileTestRun, readTestRun, type TestReconciler, testChildren } from '../../reconciling/test-run.ts'
import { lazy } from '../../util/lazy.ts'
import { createLogger, type Logger } from '../../util/log/log.ts'
import { toMs } from '../../util/text/duration.ts'
import { SkippingClock } from '../skipping-clock.ts'
import { HandlerCaller } from './call-handler.ts'
import { CountedStop, captureEvents, captureLogs, createCountedClock, createLazyClient } from './captures.ts'
import { findHandler } from './find-handler.ts'
import { KnownResources } from './known-resources.ts'
import { type AnyOptions, makeTestObject, type TestObject } from './make-object.ts'
import type { HandlerOutcome, HandlerRun, LoggedLine, RecordedEvent, RunHandlerOptions } from './types.ts'

/**
 * Calls one handler of an operator once, without a cluster, and returns its outcome and effects. The outcome is `done`, `retry`,
 * `failed`, or `skipped` if the filters of the handler do not match. The patch is returned, not written, and sleeping takes no real time.
 *
 * @example
 * ```ts
 * const { outcome } = await runHandler(kopf, { resource: Database, id: 'create', spec: { engine: 'mysql', size: 1 } })
 * ```
 */
export async function runHandler<const R extends ResourceLike = string, M extends object = Memo>(
  operator: Operator<M>,
  options: RunHandlerOptions<R, M>,
): Promise<HandlerRun<ObjectOf<R>, M>> {
  const run = new HandlerTestRun(operator as unknown as Operator, options as unknown as AnyOptions)
  return (await run.play()) as unknown as HandlerRun<ObjectOf<R>, M>
}

class HandlerTestRun {
  readonly #operator: Operator
  readonly #options: AnyOptions
  readonly #handler: Handler
  readonly #known: KnownResources
  readonly #clock: SkippingClock = new SkippingClock(Date.now())
  readonly #logs: LoggedLine[] = []
  readonly #events: RecordedEvent[] = []
  readonly #warnings: string[] = []
  readonly #memo: object
  readonly #client: Client
  readonly #signal: AbortSignal

  constructor(operator: Operator, options: AnyOptions) {
    const definitions = operator.resources as readonly CustomResource<object>[]
    this.#operator = operator
    this.#options = options
    this.#known = new KnownResources(definitions)
    this.#handler = findHandler(internalsOf(operator).registry.handlers, options, this.#known)
    this.#memo = options.memo ?? internalsOf(operator).createMemo()
    this.#client = options.cluster?.client ?? createLazyClient(definitions, options.namespace ?? 'default')
    this.#signal = options.signal ?? new AbortController().signal
  }

  async play(): Promise<HandlerRun<object, object>> {
    const handler = this.#handler
    const object = handler.category === 'activity' ? undefined : this.#setScene()
    const caller = this.#rehearse(object)
    const reason = caller.whyNot(handler)
    if (reason === undefined) await caller.call(handler, this.#options.retry)
    return this.#report(caller, object, reason)
  }

  #setScene(): TestObject {
    const resource = this.#resource()
    const { extraFields } = internalsOf(this.#operator).registry.handlersFor(resource)
    const { settings } = this.#operator
    return makeTestObject(this.#options, { handler: this.#handler, resource, settings, extraFields })
  }

  #resource() {
    const { resource } = this.#options
    return this.#known.describe(resource === undefined ? this.#handler.selector! : toSelector(resource))
  }

  #rehearse(object: TestObject | undefined): HandlerCaller {
    const { settings } = this.#operator
    const args = lazy(() => this.#args(object))
    const situation = object && this.#situation(object, args)
    return new HandlerCaller({
      options: this.#options,
      args,
      situation,
      cause: object?.cause,
      clock: this.#clock,
      logger: this.#logger(object),
      defaultBackoffMs: toMs(settings.execution.defaultBackoff),
      readReconciled: (result) => readTestRun(result, this.#trial(object!)),
    })
  }

  /** Only change handlers are filtered by a reason. */
  #situation({ body, cause, deleting }: TestObject, args: () => object) {
    const common = { resource: this.#resource(), body, deleting }
    if (this.#handler.category !== 'change') return { ...common, args }
    const { reason, old, new: now, diff } = cause
    return { ...common, ...cause, args: lazy(() => ({ ...args(), reason, old, new: now, diff })) }
  }

  #logger(scene: TestObject | undefined): Logger {
    const { apiVersion, kind, metadata } = scene?.body ?? {}
    const object = metadata && {
      apiVersion,
      kind,
      name: metadata.name,
      uid: metadata.uid,
      namespace: metadata.namespace,
    }
    return createLogger(captureLogs(this.#logs), 'kopf.objects', object === undefined ? {} : { object })
  }

  #args(object: TestObject | undefined): object {
    const { registry, settings } = internalsOf(this.#operator)
    const { indices } = registry
    const common = {
      logger: this.#logger(object),
      memo: this.#memo,
      client: this.#client,
      indices,
      metrics: this.#operator.metrics,
      clock: createCountedClock(this.#clock),
      signal: this.#signal,
    }
    if (object === undefined) return { ...common, settings }
    const { body } = object
    const recorder = captureEvents(this.#events, [body])
    // There is no worker pool: a handler with `inWorker` gets its own thread.
    const subject = { ...common, resource: this.#resource(), body, recorder, workers: undefined as never }
    return { ...objectArgs(subject), signal: this.#signal, ...this.#argsOfCategory(object) }
  }

  #argsOfCategory(scene: TestObject): object {
    const handler = this.#handler
    const { event = 'ADDED', stopAfter } = this.#options
    switch (handler.category) {
      case 'event':
        return { event: { type: event, object: scene.body } }
      case 'background': {
        const count = stopAfter ?? (handler.background.schedule === undefined ? 0 : Infinity)
        return { stopped: new CountedStop(count, this.#signal) }
      }
      case 'reconcile':
        return {
          deleting: scene.deleting,
          children: testChildren(this.#options.children ?? [], this.#trial(scene)),
        }
      case 'admission':
        return this.#admissionArgs(scene)
      default:
        return {}
    }
  }

  #trial({ body }: TestObject): ReconcileTestRun {
    const operator = this.#operator.name
    return {
      handler: this.#handler as ReconcileHandler,
      owner: body,
      operator,
      describe: (selector) => this.#known.describe(selector),
    }
  }

  #admissionArgs({ body, oldBody }: TestObject): object {
    const { operation = oldBody === undefined ? 'CREATE' : 'UPDATE', subresource, sslpeer } = this.#options
    const { dryrun = false, userinfo = {}, headers = {} } = this.#options
    const old = operation === 'DELETE' ? (oldBody ?? body) : oldBody
    const now = operation === 'DELETE' ? undefined : body
    const asked = { operation, subresource, dryrun, userinfo, headers, sslpeer, warnings: this.#warnings }
    return { ...asked, old, new: now, diff: diffValues(old, now) }
  }

  #report({ outcomes, collected }: HandlerCaller, scene: TestObject | undefined, reason: string | undefined) {
    const { id } = this.#handler
    const subhandlers = [...outcomes].filter(([one]) => one !== id).map(([one, outcome]) => [one, toShown(outcome)])
    const outcome = outcomes.get(this.#options.id.startsWith(`${id}/`) ? this.#options.id : id)
    if (reason === undefined && outcome === undefined) throw this.#undeclared([...outcomes.keys()])
    return {
      outcome: outcome === undefined ? ({ type: 'skipped', reason: reason! } as const) : this.#show(outcome),
      result: outcome?.type === 'done' ? outcome.result : undefined,
      patch: collected.merge,
      object: scene === undefined ? {} : runFunctions(scene.body, collected),
      diff: scene?.cause.diff ?? [],
      subhandlers: Object.fromEntries(subhandlers) as Record<string, HandlerOutcome>,
      logs: this.#logs,
      events: this.#events,
      warnings: this.#warnings,
      memo: this.#memo,
    }
  }

  #show(outcome: Outcome): HandlerOutcome {
    if (this.#handler.category !== 'reconcile' || outcome.type !== 'done') return toShown(outcome)
    return { ...outcome, ...(outcome.result as TestReconciler | undefined) }
  }

  #undeclared(called: readonly string[]): KopfError {
    const names = called.map((id) => `"${id}"`).join(', ')
    return new KopfError(
      'KOPF_TEST_HANDLER',
      `Cannot run the sub-handler "${this.#options.id}": "${this.#handler.id}" has not declared it; called were ${names}`,
    )
  }
}

function toShown(outcome: Outcome): HandlerOutcome {
  if (outcome.type !== 'retry') return outcome
  return { type: 'retry', delay: outcome.delayMs / 1000, error: outcome.error }
}
