/**
 * Handles one AdmissionReview: selects the admission handlers by path, operation and filters, calls them, and builds the response. Called by
 * create-review.ts. Uses the same filters and handler calls as object events, but stores nothing.
 */
import { diffValues } from '../causation/diff.ts'
import { AdmissionError, PermanentError, TemporaryError, WebhookError } from '../errors.ts'
import { type ArgsSource, objectArgs } from '../handlers/args/object-args.ts'
import type { AdmissionHandler } from '../handlers/handler.ts'
import { type CallContext, callHandler } from '../handlers/invoke.ts'
import { type MatchContext, selectHandlers } from '../handlers/matching.ts'
import { isOf, type Outcome } from '../handlers/outcomes.ts'
import type { ResourceHandlers } from '../handlers/registry.ts'
import { type CollectedPatch, collectHandlerPatch, createCollectedPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import {
  type AdmissionRequest,
  type AdmissionReviewResponse,
  readAdmissionReview,
  toAdmissionReview,
} from '../kube/reviews.ts'
import { toObserved } from '../objects/context.ts'
import type { Patch } from '../patching/patch.ts'
import { planEdits } from '../patching/plan-patch.ts'
import type { WebhookRequestInfo } from '../settings/webhook-server.ts'
import { withAnySignal } from '../util/async/any-signal.ts'
import { deepFreeze } from '../util/json/deep-freeze.ts'
import type { JsonPatchOperation } from '../util/json/json-patch.ts'
import { toJsonText } from '../util/json/json-text.ts'
import { lazy } from '../util/lazy.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { servicePath } from './build-webhooks.ts'

export interface ReviewContext extends Omit<CallContext, 'logger' | 'object'> {
  /** The served resources with admission handlers. */
  readonly resources: () => readonly Resource[]
  readonly handlersFor: (resource: Resource) => Pick<ResourceHandlers, 'admission'>
  /** The source of the handler arguments for the object of a request. */
  readonly argsSourceOf: (resource: Resource, body: KubeObject, request: AdmissionRequest) => ArgsSource
  /** Aborted when the operator stops and no longer sends responses. */
  readonly signal: AbortSignal
  /** Learns what the review is about. */
  readonly report?: AdmissionReport | undefined
}

/** What the observer is told about an admission review. */
export interface AdmissionReport {
  /** Called before the handlers, for a request that can be handled. */
  reviewed(resource: Resource, body: KubeObject, request: AdmissionRequest): void
  /** Called with the handler whose error denies the request. */
  denied(handler: AdmissionHandler): void
}

/**
 * Resolves to the AdmissionReview with the response. Rejects with a `WebhookError` for a malformed request, with the error of a filter callback, and
 * with the reason of a signal if the caller no longer waits.
 */
export async function reviewAdmission(
  reviewing: ReviewContext,
  review: unknown,
  info: WebhookRequestInfo,
): Promise<object> {
  const request = readAdmissionReview(review)
  const resource = findResource(reviewing.resources(), request)
  const body = request.object ?? request.oldObject!
  reviewing.report?.reviewed(resource, body, request)
  const source = reviewing.argsSourceOf(resource, body, request)
  const warnings: unknown[] = []
  const args = admissionArgs(source, request, info)
  const handlers = selectMatching(reviewing.handlersFor(resource).admission, { source, request, info, args })
  reviewing.tracing?.spans?.reviewing({
    resource,
    name: source.body.metadata?.name ?? request.name ?? '',
    namespace: resource.namespaced ? request.namespace : undefined,
    operation: request.operation,
    isDryRun: request.dryRun,
    handlers: handlers.map(({ id }) => id),
  })
  const options = { ...reviewing, logger: source.logger, object: () => toObserved(resource, source.body) }
  const called = await withAnySignal(
    [reviewing.signal],
    (signal) => Promise.all(handlers.map((handler) => reviewWithHandler(options, handler, { args, warnings, signal }))),
    () => info.signal,
  )
  const { errors, ...collected } = collectOutcomes(called)
  if (reviewing.report !== undefined && errors.length > 0) reviewing.report.denied(findDenying(called, errors))
  const { edits, problems } = tryToPlanEdits(body, collected, source.logger)
  return toAdmissionReview(review, request, toAdmissionResponse({ errors: [...errors, ...problems], warnings, edits }))
}

function findResource(resources: readonly Resource[], { resource: requested }: AdmissionRequest): Resource {
  const found = resources.find(
    ({ group, version, plural }) =>
      group === requested.group && version === requested.version && plural === requested.plural,
  )
  if (found !== undefined) return found
  throw new WebhookError(
    404,
    `Cannot review ${formatResource(requested)}: the operator has no admission handlers for them`,
  )
}

interface ReviewRequest {
  readonly source: ArgsSource
  readonly request: AdmissionRequest
  readonly info: WebhookRequestInfo
  readonly args: MakeArgs
}

/** The handlers with the id in the path, or all handlers if the webhook server passes no path, whose filters match. */
function selectMatching(handlers: readonly AdmissionHandler[], review: ReviewRequest): AdmissionHandler[] {
  const { request, info } = review
  const { webhook } = info
  const named = webhook === undefined ? handlers : findNamed(handlers, webhook)
  if (named.length === 0) throw toNotFoundError(review)
  // The subresource is a filter, as in Kopf: a request for another subresource is allowed without a call of the handler.
  const suitable = named.filter((handler) => isForSubresource(handler, request) && isForOperation(handler, request))
  return selectHandlers(suitable, ...matchContextsOf(review))
}

/**
 * The states that filters are compared with: for an update, the new and the old object, as the API server does with the selectors of webhook
 * configurations. Otherwise a request that removes a label would bypass the handler for objects with this label. Filter callbacks get the
 * compared state as `body`, `spec`, `labels` and so on, and always the `old`, `new`, `diff` and `operation` of the request.
 */
function matchContextsOf({ source, request, info, args }: ReviewRequest): [MatchContext, MatchContext?] {
  const { resource, body } = source
  const current = { resource, body, args: lazy(() => args({})) }
  const { object, oldObject } = request
  if (object === undefined || oldObject === undefined) return [current]
  const oldArgs = lazy(() => admissionArgs({ ...source, body: oldObject }, request, info)({}))
  return [current, { resource, body: oldObject, args: oldArgs }]
}

/** The message does not list the ids of handlers: any client that reaches the port can cause it. */
function toNotFoundError({ source, info: { webhook } }: ReviewRequest): WebhookError {
  const resource = formatResource(source.resource)
  const path = webhook === undefined ? '' : ` at the path ${JSON.stringify(`/${webhook.slice(0, maxPathLength)}`)}`
  const hint = 'the operator logs the paths of all handlers when it starts'
  return new WebhookError(404, `Cannot review ${resource}: there is no admission handler for it${path}; ${hint}`)
}

/** Longer paths are cut in error messages. */
const maxPathLength = 100

/** Finds handlers by id, or else by the path behind a Service, which may be a digest of the id and is slow to compute. */
function findNamed(handlers: readonly AdmissionHandler[], webhook: string): readonly AdmissionHandler[] {
  const found = handlers.filter(({ id }) => id === webhook)
  return found.length > 0 ? found : handlers.filter(({ id }) => servicePath(id) === webhook)
}

function isForSubresource({ admission }: AdmissionHandler, { subresource }: AdmissionRequest): boolean {
  return admission?.subresource === '*' || admission?.subresource === subresource
}

/** A mutating handler is called for deletions only if `DELETE` is its only operation: there is nothing to mutate in a deleted object. */
function isForOperation({ type, admission }: AdmissionHandler, { operation }: AdmissionRequest): boolean {
  if (type !== 'mutate' || operation !== 'DELETE') return true
  return admission.operations?.length === 1 && admission.operations[0] === 'DELETE'
}

function isMutating({ type }: AdmissionHandler): boolean {
  return type === 'mutate'
}

/** Creates the arguments of one call: those of the request, and `own` ones. Filter callbacks get no signal. */
type MakeArgs = (own: object, signal?: () => AbortSignal) => object

/** Arguments that are computed when they are first read: a large diff, for example, is expensive. */
interface LazyArgs {
  readonly old: () => unknown
  readonly diff: () => unknown
  readonly signal: (() => AbortSignal) | undefined
}

const lazyArgs: unique symbol = Symbol('kopf.lazyArgs')

/** Getters that all calls share: closures per call would keep the arguments of each call in memory until a full garbage collection. */
const lazyGetters: PropertyDescriptorMap = Object.fromEntries(
  (['old', 'diff', 'signal'] as const).map((name) => [
    name,
    {
      enumerable: true,
      get(this: { readonly [lazyArgs]: LazyArgs }) {
        return this[lazyArgs][name]?.()
      },
    },
  ]),
)

function admissionArgs(source: ArgsSource, request: AdmissionRequest, info: WebhookRequestInfo): MakeArgs {
  const { operation, subresource, dryRun, userInfo, object, oldObject } = request
  // The API server sends the name of a Namespace as the namespace of the request.
  const requestNamespace = source.resource.namespaced ? request.namespace : undefined
  const { name = request.name, namespace = requestNamespace } = source.body.metadata ?? {}
  const requestArgs = {
    // A body without metadata, such as the options of an `exec`, has its name and namespace only in the request.
    name,
    namespace,
    operation,
    subresource,
    dryrun: dryRun,
    userinfo: deepFreeze(userInfo),
    headers: info.headers ?? {},
    sslpeer: info.sslpeer,
    new: object,
  }
  const old = () => deepFreeze(oldObject)
  const diff = lazy(() => diffValues(oldObject, object))
  // Assigns to the new object of `objectArgs`: spreading so many fields into another copy is slow.
  return (own, signal) => {
    const args = Object.assign(objectArgs(source), requestArgs, own, { [lazyArgs]: { old, diff, signal } })
    return Object.defineProperties(args, lazyGetters)
  }
}

interface CallArgs {
  readonly args: MakeArgs
  readonly warnings: unknown[]
  readonly signal: () => AbortSignal
}

interface ReviewCall {
  readonly handler: AdmissionHandler
  readonly patch: Patch<KubeObject>
  readonly outcome: Outcome
}

async function reviewWithHandler(
  options: CallContext,
  handler: AdmissionHandler,
  { args, warnings, signal }: CallArgs,
): Promise<ReviewCall> {
  const { outcome, patch } = await callHandler(options, handler, {
    start: { startedMs: options.clock.now(), retries: 0 },
    args: (own) => args({ ...own, warnings }, signal),
  })
  if (outcome.type === 'done' && !isMutating(handler) && !patch.isEmpty) {
    options.logger.warn(`The patch of the validating handler '${handler.id}' is ignored: use on.mutate.`)
  }
  return { handler, patch, outcome }
}

/**
 * Collects the patches of mutating handlers in the order of registration, and all errors. Patches of validating handlers are left out: the API server
 * rejects a response of a validating webhook with a patch, and the user would see that error instead of the message of the handler.
 */
function collectOutcomes(called: readonly ReviewCall[]): CollectedPatch & { readonly errors: readonly unknown[] } {
  const patch = createCollectedPatch()
  for (const result of called) if (isMutating(result.handler)) collectHandlerPatch(patch, result)
  const errors = called.flatMap(({ outcome }) => (outcome.type === 'done' ? [] : [outcome.error]))
  return { ...patch, errors }
}

/** The handler whose error is in the response. */
function findDenying(called: readonly ReviewCall[], errors: readonly unknown[]): AdmissionHandler {
  const error = mostSevere(errors)
  return called.find(({ outcome }) => outcome.type !== 'done' && outcome.error === error)!.handler
}

/** Converts the patches to JSON patch operations. An error in a function of `patch.fns` denies the request, like an error of its handler. */
function tryToPlanEdits(body: KubeObject, patch: CollectedPatch, logger: Logger): Edits {
  try {
    return { edits: planEdits(body, patch), problems: [] }
  } catch (error) {
    logger.error(describeError(error), { error })
    return { edits: [], problems: [error] }
  }
}

interface Edits {
  readonly edits: readonly JsonPatchOperation[]
  readonly problems: readonly unknown[]
}

/** The outcomes of all handlers of one request. */
export interface ReviewOutcomes {
  readonly errors: readonly unknown[]
  /** The content of the handlers' `warnings`: usually strings. */
  readonly warnings: readonly unknown[]
  readonly edits: readonly JsonPatchOperation[]
}

/** Builds the response. A denial contains the patch, too, as in Kopf. */
export function toAdmissionResponse({ errors, warnings, edits }: ReviewOutcomes): AdmissionReviewResponse {
  const error = mostSevere(errors)
  return {
    allowed: errors.length === 0,
    warnings: warnings.map(describeError),
    patch: edits.length === 0 ? undefined : Buffer.from(toJsonText(edits)).toString('base64'),
    status: errors.length === 0 ? undefined : { message: describeError(error), code: codeOf(error) },
  }
}

/** The error for the response, which has space for one: an `AdmissionError` first, then a permanent, a temporary, and any other error. */
function mostSevere(errors: readonly unknown[]): unknown {
  const rank = (error: unknown) => ranks.findIndex((type) => isOf(error, type))
  const ranked = errors.map((error) => ({ error, rank: rank(error) < 0 ? ranks.length : rank(error) }))
  return ranked.sort((a, b) => a.rank - b.rank)[0]?.error
}

const ranks = [AdmissionError, PermanentError, TemporaryError]

/** The HTTP status for the user. A `status` outside of 400 to 599 becomes 500: the API server does not check it. */
function codeOf(error: unknown): number {
  const status = isOf(error, AdmissionError) ? error.status : 500
  return Number.isSafeInteger(status) && status >= 400 && status <= 599 ? status : 500
}
