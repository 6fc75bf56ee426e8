/** `runHandler`: a handler tried out by itself, with no cluster. Puts together what rehearsal.ts plays. */
import type { Client } from '../client/client.ts'
import { diffValues } from '../core/causation/diff.ts'
import type { Handler } from '../core/handling/handler.ts'
import { kindOf } from '../core/handling/kinds.ts'
import type { Outcome } from '../core/handling/outcomes.ts'
import { objectArgs } from '../core/handling/subject.ts'
import { fulfil } from '../core/patching/compose.ts'
import { KopfError } from '../errors.ts'
import type { CustomResource, ObjectOf, ResourceLike } from '../kube/resources.ts'
import { toSelector } from '../kube/selectors.ts'
import type { Operator } from '../operator.ts'
import { type Reconcilable, type ReconcileTrial, readTrial, trialChildren } from '../running/reconcile-trial.ts'
import { toMs } from '../util/duration.ts'
import { createLogger, type Logger } from '../util/log.ts'
import { once } from '../util/once.ts'
import { CountedStop, captureEvents, captureLogs, createCountedClock } from './captures.ts'
import { findHandler } from './find-handler.ts'
import type { HandlerOutcome, HandlerRun, LoggedLine, RecordedEvent, RunHandlerOptions } from './handler-run.ts'
import { KnownResources } from './known-resources.ts'
import { createLazyClient } from './lazy-client.ts'
import { Rehearsal } from './rehearsal.ts'
import { type AnyOptions, type Scene, setScene } from './scene.ts'
import { SkippingClock } from './skipping-clock.ts'

/**
 * Calls one handler once, and tells what came of it. The outcome is `done`, `retry`, `failed`, or `skipped` where its filters
 * do not match.
 *
 * @example
 * ```ts
 * const { outcome } = await runHandler(kopf, { resource: Database, id: 'create', spec: { engine: 'mysql', size: 1 } })
 * ```
 */
export async function runHandler<const R extends ResourceLike = string, M extends object = Record<string, unknown>>(
  operator: Operator<M>,
  options: RunHandlerOptions<R, M>,
): Promise<HandlerRun<ObjectOf<R>, M>> {
  const run = new HandlerTrial(operator as unknown as Operator, options as unknown as AnyOptions)
  return (await run.play()) as unknown as HandlerRun<ObjectOf<R>, M>
}

class HandlerTrial {
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
    this.#handler = findHandler(operator.registry.handlers, options, this.#known)
    this.#memo = options.memo ?? operator.createMemo()
    this.#client = options.cluster?.client ?? createLazyClient(definitions, options.namespace ?? 'default')
    this.#signal = options.signal ?? new AbortController().signal
  }

  async play(): Promise<HandlerRun<object, object>> {
    const handler = this.#handler
    const scene = kindOf(handler)?.room === 'activity' ? undefined : this.#setScene()
    const rehearsal = this.#rehearse(scene)
    const reason = rehearsal.whyNot(handler)
    if (reason === undefined) await rehearsal.call(handler, this.#options.retry)
    return this.#report(rehearsal, scene, reason)
  }

  #setScene(): Scene {
    const resource = this.#resource()
    const { extraFields } = this.#operator.registry.handlersFor(resource)
    const { settings } = this.#operator
    return setScene(this.#options, { handler: this.#handler, resource, settings, extraFields })
  }

  #resource() {
    const { resource } = this.#options
    return this.#known.describe(resource === undefined ? this.#handler.selector! : toSelector(resource))
  }

  #rehearse(scene: Scene | undefined): Rehearsal {
    const { settings } = this.#operator
    const args = once(() => this.#args(scene))
    const situation = scene && this.#situation(scene, args)
    return new Rehearsal({
      options: this.#options,
      args,
      situation,
      cause: scene?.cause,
      clock: this.#clock,
      logger: this.#logger(scene),
      defaultBackoffMs: toMs(settings.execution.defaultBackoff),
      readReconciled: (result) => readTrial(result, this.#trial(scene!)),
    })
  }

  /** Only handlers of changes are told of a reason. */
  #situation({ body, cause, deleting }: Scene, args: () => object) {
    const common = { resource: this.#resource(), body, deleting }
    if (kindOf(this.#handler)?.room !== 'change') return { ...common, args }
    const { reason, old, new: now, diff } = cause
    return { ...common, ...cause, args: once(() => ({ ...args(), reason, old, new: now, diff })) }
  }

  #logger(scene: Scene | undefined): Logger {
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

  #args(scene: Scene | undefined): object {
    const { registry, settings } = this.#operator
    const { indices } = registry
    const common = {
      logger: this.#logger(scene),
      memo: this.#memo,
      client: this.#client,
      indices,
      clock: createCountedClock(this.#clock),
      signal: this.#signal,
    }
    if (scene === undefined) return { ...common, settings }
    const { body } = scene
    const recorder = captureEvents(this.#events, [body])
    // Without threads of a run: what is `inWorker` gets one for itself.
    const subject = { ...common, resource: this.#resource(), body, recorder, workers: undefined as never }
    return { ...objectArgs(subject), signal: this.#signal, ...this.#argsOfRoom(scene) }
  }

  #argsOfRoom(scene: Scene): object {
    const { event = 'ADDED', stopAfter = this.#handler.background?.rhythm ? Infinity : 0 } = this.#options
    switch (kindOf(this.#handler)?.room) {
      case 'event':
        return { event: { type: event, object: scene.body } }
      case 'background':
        return { stopped: new CountedStop(stopAfter, this.#signal) }
      case 'reconcile':
        return {
          deleting: scene.deleting,
          children: trialChildren(this.#options.children ?? [], this.#trial(scene)),
        }
      case 'admission':
        return this.#admissionArgs(scene)
      default:
        return {}
    }
  }

  #trial({ body }: Scene): ReconcileTrial {
    const operator = this.#operator.name
    return { handler: this.#handler, owner: body, operator, describe: (selector) => this.#known.describe(selector) }
  }

  #admissionArgs({ body, oldBody }: Scene): object {
    const { operation = oldBody === undefined ? 'CREATE' : 'UPDATE', subresource, sslpeer } = this.#options
    const { dryrun = false, userinfo = {}, headers = {} } = this.#options
    const old = operation === 'DELETE' ? (oldBody ?? body) : oldBody
    const now = operation === 'DELETE' ? undefined : body
    const asked = { operation, subresource, dryrun, userinfo, headers, sslpeer, warnings: this.#warnings }
    return { ...asked, old, new: now, diff: diffValues(old, now) }
  }

  #report({ outcomes, wishes }: Rehearsal, scene: Scene | undefined, reason: string | undefined) {
    const { id } = this.#handler
    const subhandlers = [...outcomes].filter(([one]) => one !== id).map(([one, outcome]) => [one, toShown(outcome)])
    const outcome = outcomes.get(this.#options.id.startsWith(`${id}/`) ? this.#options.id : id)
    if (reason === undefined && outcome === undefined) throw this.#undeclared([...outcomes.keys()])
    return {
      outcome: outcome === undefined ? ({ type: 'skipped', reason: reason! } as const) : this.#show(outcome),
      result: outcome?.type === 'done' ? outcome.result : undefined,
      patch: wishes.merge,
      object: scene === undefined ? {} : fulfil(scene.body, wishes),
      diff: scene?.cause.diff ?? [],
      subhandlers: Object.fromEntries(subhandlers) as Record<string, HandlerOutcome>,
      logs: this.#logs,
      events: this.#events,
      warnings: this.#warnings,
      memo: this.#memo,
    }
  }

  #show(outcome: Outcome): HandlerOutcome {
    if (this.#handler.reconciling === undefined || outcome.type !== 'done') return toShown(outcome)
    return { ...outcome, ...(outcome.result as Reconcilable | undefined) }
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
