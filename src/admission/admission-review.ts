/**
 * One request to the API server, reviewed: which handlers it concerns, what they say, and the answer. Called for every
 * AdmissionReview, by whatever server it came; enters by another door than events, and uses the same filters and calls.
 */
import { diffValues } from '../causation/diff.ts'
import { AdmissionError, PermanentError, TemporaryError, WebhookError } from '../errors.ts'
import { type ArgsSource, objectArgs } from '../handlers/args/object-args.ts'
import type { AdmissionHandler } from '../handlers/handler.ts'
import { type CallContext, callHandler } from '../handlers/invoke.ts'
import { type MatchContext, selectHandlers } from '../handlers/matching.ts'
import { isOf, type Outcome } from '../handlers/outcomes.ts'
import type { ResourceHandlers } from '../handlers/registry.ts'
import { type CollectedPatch, collectHandlerPatch } from '../handlers/results.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
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
  /** Those that somebody reviews, as far as the cluster has them. */
  readonly resources: () => readonly Resource[]
  readonly handlersFor: (resource: Resource) => Pick<ResourceHandlers, 'admission'>
  /** The object at hand, with all that handlers are given. */
  readonly subjectOf: (resource: Resource, body: KubeObject, request: AdmissionRequest) => ArgsSource
  /** Aborted when the operator has no more time for answers. */
  readonly signal: AbortSignal
}

/**
 * Rejects with a `WebhookError` where the request is bad, with the error of a filter that cannot tell, and with the reason of the
 * signal where nobody waits for the answer any more.
 */
export async function reviewAdmission(
  reviewing: ReviewContext,
  review: unknown,
  info: WebhookRequestInfo,
): Promise<object> {
  const request = readAdmissionReview(review)
  const resource = findResource(reviewing.resources(), request)
  const body = request.object ?? request.oldObject!
  const source = reviewing.subjectOf(resource, body, request)
  const warnings: unknown[] = []
  const args = admissionArgs(source, request, info)
  const concerned = selectConcerned(reviewing.handlersFor(resource).admission, { subject: source, request, info, args })
  const options = { ...reviewing, logger: source.logger, object: () => toObserved(resource, source.body) }
  const called = await withAnySignal(
    [reviewing.signal],
    (signal) => Promise.all(concerned.map((handler) => call(options, handler, { args, warnings, signal }))),
    () => info.signal,
  )
  const { errors, ...collected } = gather(called)
  const { edits, problems } = tryEdits(body, collected, source.logger)
  return toAdmissionReview(review, request, toAdmissionResponse({ errors: [...errors, ...problems], warnings, edits }))
}

function findResource(resources: readonly Resource[], { resource: asked }: AdmissionRequest): Resource {
  const found = resources.find(
    ({ group, version, plural }) => group === asked.group && version === asked.version && plural === asked.plural,
  )
  if (found !== undefined) return found
  throw new WebhookError(404, `Cannot review ${formatResource(asked)}: the operator has no admission handlers for them`)
}

interface ReviewRequest {
  readonly subject: ArgsSource
  readonly request: AdmissionRequest
  readonly info: WebhookRequestInfo
  readonly args: MakeArgs
}

/** The handlers that the path names (all of them where the server does not pass a path) whose filters match. */
function selectConcerned(handlers: readonly AdmissionHandler[], asked: ReviewRequest): AdmissionHandler[] {
  const { request, info } = asked
  const { webhook } = info
  const named = webhook === undefined ? handlers : findNamed(handlers, webhook)
  if (named.length === 0) throw notFound(asked)
  // The subresource is a filter, as in Kopf: what a handler is not for goes through.
  const able = named.filter((handler) => isForSubresource(handler, request) && isForOperation(handler, request))
  return selectHandlers(able, ...situationsOf(asked))
}

/**
 * The states that filters are compared with. An update concerns a handler whose filters match the new or the old object, as it
 * does for the selectors of webhook configurations: otherwise a request that removes a label would escape the handler that is
 * for objects with this label. Callbacks get the state at hand as `body`, `spec`, `labels` and so on; `old`, `new`, `diff` and
 * `operation` are those of the request each time.
 */
function situationsOf({ subject: source, request, info, args }: ReviewRequest): [MatchContext, MatchContext?] {
  const { resource, body } = source
  const present = { resource, body, args: lazy(() => args({})) }
  const { object, oldObject } = request
  if (object === undefined || oldObject === undefined) return [present]
  const former = lazy(() => admissionArgs({ ...source, body: oldObject }, request, info)({}))
  return [present, { resource, body: oldObject, args: former }]
}

/** The ids of handlers are not listed: anyone who reaches the port may ask. The log lists the paths when the operator starts. */
function notFound({ subject: source, info: { webhook } }: ReviewRequest): WebhookError {
  const what = formatResource(source.resource)
  const path = webhook === undefined ? '' : ` at the path ${JSON.stringify(`/${webhook.slice(0, maxShown)}`)}`
  const hint = 'the paths of all handlers are in the log of the operator, at its start'
  return new WebhookError(404, `Cannot review ${what}: there is no admission handler for it${path}; ${hint}`)
}

const maxShown = 100

/** By the id, mostly; the path of a service has another form of it, which takes long to work out. */
function findNamed(handlers: readonly AdmissionHandler[], webhook: string): readonly AdmissionHandler[] {
  const found = handlers.filter(({ id }) => id === webhook)
  return found.length > 0 ? found : handlers.filter(({ id }) => servicePath(id) === webhook)
}

function isForSubresource({ admission }: AdmissionHandler, { subresource }: AdmissionRequest): boolean {
  return admission?.subresource === '*' || admission?.subresource === subresource
}

/** Mutating handlers have nothing to mutate in a deleted object, so they are called for deletions only if they are for nothing else. */
function isForOperation({ type: kind, admission }: AdmissionHandler, { operation }: AdmissionRequest): boolean {
  if (kind !== 'mutate' || operation !== 'DELETE') return true
  return admission?.operations?.length === 1 && admission.operations[0] === 'DELETE'
}

function isMutating({ type: kind }: AdmissionHandler): boolean {
  return kind === 'mutate'
}

/** Puts together what is the same for all, and what is given. Filters have no signal. */
type MakeArgs = (own: object, signal?: () => AbortSignal) => object

/** What is dear is only worked out for those who look at it. */
interface LazyArgs {
  readonly old: () => unknown
  readonly diff: () => unknown
  readonly signal: (() => AbortSignal) | undefined
}

const lazyArgs: unique symbol = Symbol('kopf.dear')

/** One getter for all: with getters of their own, the arguments of each call would live on until the heap is swept. */
const shown: PropertyDescriptorMap = Object.fromEntries(
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
  const place = source.resource.namespaced ? request.namespace : undefined
  const { name = request.name, namespace = place } = source.body.metadata ?? {}
  const requested = {
    // What is no object, such as the options of an `exec`, is known by the request alone.
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
  // Put into what is made anew for each: copies of so many fields are dear.
  return (own, signal) => {
    const args = Object.assign(objectArgs(source), requested, own, { [lazyArgs]: { old, diff, signal } })
    return Object.defineProperties(args, shown)
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

async function call(
  options: CallContext,
  handler: AdmissionHandler,
  { args, warnings, signal }: CallArgs,
): Promise<ReviewCall> {
  const { outcome, patch } = await callHandler(options, handler, {
    start: { startedMs: options.clock.now(), retries: 0 },
    args: (own) => args({ ...own, warnings }, signal),
  })
  if (outcome.type === 'done' && !isMutating(handler) && !patch.isEmpty) {
    options.logger.warn(
      `Handler '${handler.id}' validates, and what it has put into its patch is left out: use on.mutate.`,
    )
  }
  return { handler, patch, outcome }
}

/**
 * All patches in the order of registration, and all errors. The API server takes no patches of validating webhooks: with one, the
 * answer would not count, and whoever asked would be told of the patch in place of what is wrong.
 */
function gather(called: readonly ReviewCall[]): CollectedPatch & { readonly errors: readonly unknown[] } {
  const patch: CollectedPatch = { merge: {} as JsonObject, fns: [] }
  for (const one of called) if (isMutating(one.handler)) collectHandlerPatch(patch, one)
  const errors = called.flatMap(({ outcome }) => (outcome.type === 'done' ? [] : [outcome.error]))
  return { ...patch, errors }
}

/** Functions of the user are in it: what goes wrong in them refuses the request, as if the handler itself had failed. */
function tryEdits(body: KubeObject, patch: CollectedPatch, logger: Logger): Edits {
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

/** What the handlers of one request have come to, as one answer: the weightiest of their errors, or what is to be changed. */

export interface ReviewOutcomes {
  readonly errors: readonly unknown[]
  /** As the handlers pushed them: meant to be text. */
  readonly warnings: readonly unknown[]
  readonly edits: readonly JsonPatchOperation[]
}

/** What is wanted of the object is told also where the request is refused, as in Kopf. */
export function toAdmissionResponse({ errors, warnings, edits }: ReviewOutcomes): AdmissionReviewResponse {
  const error = mostSevere(errors)
  return {
    allowed: errors.length === 0,
    warnings: warnings.map(describeError),
    patch: edits.length === 0 ? undefined : Buffer.from(toJsonText(edits)).toString('base64'),
    status: errors.length === 0 ? undefined : { message: describeError(error), code: codeOf(error) },
  }
}

/** Only one can be told: errors meant for whoever made the request go before those of the operator's own kind, then all others. */
function mostSevere(errors: readonly unknown[]): unknown {
  const rank = (error: unknown) => ranks.findIndex((type) => isOf(error, type))
  const ranked = errors.map((error) => ({ error, rank: rank(error) < 0 ? ranks.length : rank(error) }))
  return ranked.sort((a, b) => a.rank - b.rank)[0]?.error
}

const ranks = [AdmissionError, PermanentError, TemporaryError]

/** The API server would take anything; what is no status of a refusal is not passed on. */
function codeOf(error: unknown): number {
  const status = isOf(error, AdmissionError) ? error.status : 500
  return Number.isSafeInteger(status) && status >= 400 && status <= 599 ? status : 500
}
