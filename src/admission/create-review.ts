/**
 * Creates the function that handles reviews: passes an AdmissionReview to admission-review.ts and a ConversionReview to conversion-review.ts, with
 * the handlers and arguments from the context of the run. Called by run/bootstrap.ts.
 */

import type { DiscoveryCache } from '../client/discovery/discovery-cache.ts'
import { WebhookError } from '../errors.ts'
import type { ArgsSource } from '../handlers/args/object-args.ts'
import type { Registry } from '../handlers/registry.ts'
import type { Watchdog } from '../handlers/watchdog.ts'
import { type KubeObject, parseGroupVersion } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource, selectResources } from '../kube/resources/selectors.ts'
import { type AdmissionRequest, isConversionReview } from '../kube/reviews.ts'
import { type Context, memoOf, objectLogger } from '../objects/context.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import type { ObservedHandler, ObservedReview, Observer } from '../observer.ts'
import type { WebhookFn, WebhookRequestInfo } from '../settings/webhook-server.ts'
import { monotonicNow } from '../util/async/clock.ts'
import type { Latch } from '../util/async/latch.ts'
import { lazy } from '../util/lazy.ts'
import { toMs } from '../util/text/duration.ts'
import { type AdmissionReport, type ReviewContext, reviewAdmission } from './admission-review.ts'
import { servicePath } from './build-webhooks.ts'
import { type ConversionContext, reviewConversion } from './conversion-review.ts'

export interface CreateReviewOptions {
  readonly registry: Registry
  readonly discovery: DiscoveryCache
  readonly watchdog: Watchdog
  /** Opened when the served resources are known. */
  readonly discovered: Latch
  /** Opened when the indices are complete. Admission handlers are not called before: they may read the indices. */
  readonly indexed: Latch
}

type AnsweredReview = Parameters<NonNullable<Observer['reviewAnswered']>>[0]

export function createReview(context: Context, options: CreateReviewOptions): WebhookFn {
  const reviewing = toReviewContext(context, options)
  const converting = toConversionContext(context, options)
  const named = lazy(() => handlersByPath(options.registry))
  const answer = async (review: unknown, info: WebhookRequestInfo, report: ReviewReport | undefined) => {
    const { discovered, indexed } = options
    // Conversions do not wait for the indices: indexed objects may have to be converted first.
    if (!discovered.isOpen) await discovered.wait(info.signal)
    if (isConversionReview(review)) return reviewConversion(converting, review, info)
    if (!indexed.isOpen) await indexed.wait(info.signal)
    return reviewAdmission(report === undefined ? reviewing : { ...reviewing, report }, review, info)
  }
  const respond: WebhookFn = async (review, info = {}) => {
    const { observer } = context
    if (observer?.reviewStarted === undefined && observer?.reviewAnswered === undefined) {
      return answer(review, info, undefined)
    }
    const type = isConversionReview(review) ? 'conversion' : 'admission'
    const handler = type === 'conversion' || info.webhook === undefined ? undefined : named().get(info.webhook)
    const report = new ReviewReport(context, { type, handler })
    try {
      return report.answered(await answer(review, info, report))
    } catch (error) {
      report.failed(error, info.signal)
      throw error
    }
  }
  return (review, info = {}) => {
    const { spans } = context.tracing
    if (spans === undefined) return respond(review, info)
    const type = isConversionReview(review) ? 'conversion' : 'admission'
    return spans.review({ type, headers: info.headers }, async () => respond(review, info), allowedOf)
  }
}

/** The verdict in an AdmissionReview. Undefined for conversions. */
function allowedOf(response: object): boolean | undefined {
  return (response as AdmissionAnswer).response?.allowed
}

interface AdmissionAnswer {
  readonly response?: { readonly allowed?: boolean; readonly status?: { readonly message: string } }
}

/** The messages of handlers may be of any length. */
const maxMessageLength = 2000

/** Reports one review to the observer. */
class ReviewReport implements AdmissionReport {
  readonly #context: Context
  readonly #review: ObservedReview
  readonly #beganMs: number
  #handler: ObservedHandler | undefined
  #subject: Pick<AnsweredReview, 'object' | 'body' | 'operation'> = {
    object: undefined,
    body: undefined,
    operation: undefined,
  }

  constructor(context: Context, review: ObservedReview) {
    this.#context = context
    this.#review = review
    this.#handler = review.handler
    this.#beganMs = monotonicNow(context.clock)
    context.observer?.reviewStarted?.(review)
  }

  reviewed(resource: Resource, body: KubeObject, { name, namespace, operation }: AdmissionRequest): void {
    const { generateName, ...metadata } = body.metadata ?? {}
    const object = {
      resource,
      name: metadata.name ?? name ?? (generateName === undefined ? '' : `${generateName}*`),
      // The API server sends the name of a Namespace as the namespace of the request.
      namespace: resource.namespaced ? namespace : undefined,
      uid: metadata.uid,
    }
    this.#subject = { object, body, operation }
  }

  denied({ id, type }: ObservedHandler): void {
    this.#handler = { id, type }
  }

  answered(answer: object): object {
    const allowed = allowedOf(answer)
    const message = allowed === false ? (answer as AdmissionAnswer).response?.status?.message : undefined
    this.#report({ allowed, code: 200, message: message?.slice(0, maxMessageLength) })
    return answer
  }

  failed(error: unknown, signal: AbortSignal | undefined): void {
    const isTooLate = signal?.aborted && error === signal.reason
    const code = isTooLate ? undefined : error instanceof WebhookError ? error.status : 500
    this.#report({ allowed: undefined, code, message: undefined })
  }

  #report(answer: Pick<AnsweredReview, 'allowed' | 'code' | 'message'>): void {
    const { observer, clock } = this.#context
    const durationMs = monotonicNow(clock) - this.#beganMs
    const review = this.#review
    const { type } = review
    observer?.reviewAnswered?.({ review, type, ...this.#subject, ...answer, handler: this.#handler, durationMs })
  }
}

/** The admission handlers by their ids, and by their paths behind a Service. */
function handlersByPath(registry: Registry): ReadonlyMap<string, ObservedHandler> {
  const handlers = registry.ofCategory('admission').map(({ id, type }) => ({ id, type }))
  return new Map([
    ...handlers.map((handler) => [servicePath(handler.id), handler] as const),
    ...handlers.map((handler) => [handler.id, handler] as const),
  ])
}

function toReviewContext(context: Context, { registry, discovery, watchdog }: CreateReviewOptions): ReviewContext {
  const { clock, settings, writesSignal } = context
  const reviewed = cacheLast((known: readonly Resource[]) => reviewedResources(registry, known))
  return {
    clock,
    // Not the signal of other handlers: the API server sends reviews while the operator waits for these handlers to end.
    signal: writesSignal,
    watch: watchdog.watchOf(),
    observer: context.observer,
    tracing: context.tracing,
    defaultBackoffMs: toMs(settings.execution.defaultBackoff),
    resources: () => reviewed(discovery.resources),
    handlersFor: (resource) => registry.handlersFor(resource),
    argsSourceOf: (resource, body, request) => {
      const { uid } = body.metadata ?? {}
      const watched =
        request.operation === 'CREATE' || uid === undefined ? undefined : context.served.find(resource, uid)
      const { name } = request
      // The API server sends the name of a Namespace as the namespace of the request.
      const namespace = resource.namespaced ? request.namespace : undefined
      return { ...toArgsSource(context, resource, body, { name, namespace }), memo: memoFor(context, watched) }
    },
  }
}

/** A new object gets a new memo, which is not kept: the request may still fail. */
function memoFor(context: Context, object: WatchedObject | undefined): object {
  return object === undefined ? context.createMemo() : memoOf(context, object)
}

function toConversionContext(
  context: Context,
  { registry, discovery, watchdog }: CreateReviewOptions,
): ConversionContext {
  const { clock, settings, writesSignal } = context
  const versionsOf = (group: string, kind: string) =>
    discovery.resources.filter((one) => one.group === group && one.kind === kind)
  return {
    clock,
    signal: writesSignal,
    watch: watchdog.watchOf(),
    observer: context.observer,
    tracing: context.tracing,
    defaultBackoffMs: toMs(settings.execution.defaultBackoff),
    // Handlers of all versions of the resource: the version of a conversion may be stored, but no longer served.
    conversionsFor: (group, kind) => {
      const versions = versionsOf(group, kind)
      return registry
        .ofCategory('conversion')
        .filter(({ selector }) => versions.some((one) => selector!.matchesAnyVersion(one)))
    },
    argsSourceOf: (body) => {
      const { group, version } = parseGroupVersion(body.apiVersion)!
      const versions = versionsOf(group, body.kind)
      const resource = versions.find((one) => one.version === version) ?? { ...versions[0]!, version }
      return { ...toArgsSource(context, resource, body), memo: context.createMemo() }
    },
  }
}

/** A body may have no name yet (`generateName`), or no metadata at all: then the name and the namespace of the request count. */
function toArgsSource(
  context: Context,
  resource: Resource,
  body: KubeObject,
  { name, namespace }: Partial<Pick<AdmissionRequest, 'name' | 'namespace'>> = {},
): Omit<ArgsSource, 'memo'> {
  const { metadata } = body
  const knownName = name ?? (metadata?.generateName && `${metadata.generateName}*`)
  const reference = { ...(namespace && { namespace }), ...(knownName && { name: knownName }), ...metadata }
  return {
    resource,
    body,
    logger: objectLogger(context, { ...body, metadata: reference }, { isLocal: true }),
    client: context.clientFor(reference.namespace),
    recorder: context.recorderFor(body),
    indices: context.indices,
    metrics: context.metrics,
    clock: context.handlerClock,
    workers: context.workers,
  }
}

/** The served resources that admission handlers select. */
function reviewedResources(registry: Registry, known: readonly Resource[]): readonly Resource[] {
  const found = new Map<string, Resource>()
  for (const { selector } of registry.ofCategory('admission')) {
    for (const resource of selectResources(selector!, known).candidates) found.set(formatResource(resource), resource)
  }
  return [...found.values()]
}

/** Caches the value for the last key: it is computed again only for another key. */
function cacheLast<K, V>(compute: (key: K) => V): (key: K) => V {
  let last: { readonly key: K; readonly value: V } | undefined
  return (key) => {
    if (last?.key !== key) last = { key, value: compute(key) }
    return last!.value
  }
}
