/**
 * The spans of an operator: the processing of objects, calls of handlers, steps, requests and reviews. Everything that is not a part of one of these has no
 * span: watches, lists of the watch, Leases and events. Called through util/tracing/spans.ts.
 */
import { PermanentError, WebhookError } from '../errors.ts'
import { ChildrenRetry, isOf } from '../handlers/outcomes.ts'
import { nameError } from '../util/log/describe-error.ts'
import { cutText } from '../util/log/error-text.ts'
import type { Logger } from '../util/log/log.ts'
import { emptyContext, type OtelContext, registeredApi, runInContext, spanKey } from '../util/tracing/open-telemetry.ts'
import type {
  SpanHandler,
  SpanOutcome,
  SpanRequest,
  SpanReview,
  SpanReviewFacts,
  SpanSubject,
  Spans,
} from '../util/tracing/spans.ts'
import { attributes } from './attributes.ts'
import { LazySpan } from './lazy-span.ts'
import {
  endOfRequest,
  handlerAttributes,
  isTraceHeader,
  nameResource,
  requestSpan,
  subjectAttributes,
} from './span-facts.ts'
import { type SpanEnd, SpanRecorder, type SpanStart } from './span-recorder.ts'
import { activeWork, TracedWork, toLinks } from './traced-work.ts'

/** Ids of steps and sub-handlers may be computed from objects: further ids are not in the names of spans, only in their attributes. */
const maxNames = 200
/** Longer ids are cut: a step may have any text as its id. */
const maxIdInName = 100
/** A conversion review calls a handler for each object of a list: further calls have no spans. */
const maxCallsOfReview = 100

export interface OperatorSpansOptions {
  readonly logger: Logger
  /** The address of the API server; undefined if it is not known. */
  readonly server: () => string | undefined
}

export class OperatorSpans implements Spans {
  readonly #recorder: SpanRecorder
  readonly #server: () => string | undefined
  readonly #names = new Set<string>()

  constructor({ logger, server }: OperatorSpansOptions) {
    this.#recorder = new SpanRecorder(logger)
    this.#server = server
  }

  async processing<T>(subject: () => SpanSubject, run: () => Promise<T>): Promise<T> {
    const links = () => toLinks(subject().traceparent)
    const name = () => `${work.reason ?? 'process'} ${nameResource(subject().resource)}`
    const describe = () =>
      ({ name: name(), kind: 'internal', attributes: subjectAttributes(subject()), links: links() }) as const
    const work = new TracedWork('processing', this.#lazySpan(describe), links)
    const { span } = work
    try {
      return await runInContext(work.context, run)
    } finally {
      const { hasFailed, error, reason } = work
      if (error !== undefined) span.start()
      if (!span.isUnstarted) {
        this.#recorder.guard(() => span.updateName(name()))
        const isFailed = hasFailed || error !== undefined
        this.#recorder.describe(span, () => ({ attributes: { [attributes.reason]: reason }, error, isFailed }))
      }
      this.#finish(span)
    }
  }

  decided({ type, reason = '' }: { readonly type: string; readonly reason?: string }): void {
    const work = this.#active()?.work
    if (work?.type !== 'processing') return
    if (type === 'handle' && reason !== 'noop') work.setReason(reason, 'change')
    else if (type.endsWith('-finalizer')) work.setReason(type, 'finalizer')
  }

  processingFailed(error: unknown): void {
    const work = this.#active()?.work
    if (work !== undefined) work.error = error
  }

  background<T>(handler: SpanHandler, subject: () => SpanSubject, run: () => Promise<T>): Promise<T> {
    return this.#runOwnWork(this.#createOwnWork(handler, subject), run)
  }

  async handlerCall<T>(handler: SpanHandler, run: () => Promise<T>, outcomeOf: (result: T) => SpanOutcome): Promise<T> {
    const active = this.#active()
    if (active === undefined) {
      const work = this.#createOwnWork(handler, undefined)
      return this.#runOwnWork(work, () => this.#runOwnCall(work, run, outcomeOf))
    }
    const { context, work } = active
    if (work.type === 'call' || work.type === 'daemon') return this.#runOwnCall(work, run, outcomeOf)
    if (handler.type === 'event' || handler.type === 'reconcile') work.setReason(handler.type, handler.type)
    work.calls += 1
    if (work.type === 'review' && work.calls > maxCallsOfReview) return run()
    work.retry = Math.max(work.retry, handler.retry)
    const parent = this.#parentOf(context)
    if (work.type === 'processing')
      this.#recorder.describe(work.span, () => ({ attributes: { [attributes.retry]: work.retry } }))
    const start: SpanStart = {
      name: this.#nameCall(handler),
      kind: 'internal',
      attributes: handlerAttributes(handler),
    }
    return this.#recorder.record(start, parent, { run, toEnd: (result) => endOfCall(work, outcomeOf(result)) })
  }

  async step<T>({ id, handler }: { readonly id: string; readonly handler: string }, run: () => Promise<T>): Promise<T> {
    const active = this.#active()
    if (active === undefined) return run()
    const facts = { [attributes.stepId]: id, [attributes.handlerId]: handler }
    const start: SpanStart = { name: this.#nameOf('step', id), kind: 'internal', attributes: facts }
    return this.#recorder.record(start, this.#parentOf(active.context), { run })
  }

  async request<T>(request: SpanRequest, run: () => Promise<T>, codeOf: () => number | undefined): Promise<T> {
    const active = this.#active()
    if (active === undefined) return run()
    const { context, work } = active
    const parent = this.#parentOf(context)
    const hasParent = parent.getValue(spanKey) !== undefined
    // A request after the end of a processing that has no span.
    if (!hasParent && work.type !== 'daemon') return run()
    const links = hasParent ? [] : this.#daemonLinks(work)
    return this.#recorder.record({ ...requestSpan(request, this.#server()), links }, parent, {
      run,
      toEnd: (result) => endOfRequest(codeOf(), result instanceof Error ? result : undefined),
      toFailure: (error) => endOfRequest(codeOf(), error),
    })
  }

  traceHeaders(): Readonly<Record<string, string>> {
    const propagation = registeredApi()?.propagation
    const active = this.#active()
    if (propagation === undefined || active === undefined) return {}
    const headers: Record<string, string> = {}
    const set = (_: object, key: unknown, value: unknown) => {
      if (typeof key === 'string' && typeof value === 'string' && isTraceHeader(key)) headers[key.toLowerCase()] = value
    }
    this.#recorder.guard(() => propagation.inject(active.context, headers, { set }))
    return headers
  }

  async review<T>(
    { type, headers = {} }: SpanReview,
    run: () => Promise<T>,
    allowedOf: (response: T) => boolean | undefined,
  ): Promise<T> {
    const parent = this.#remoteParent(headers)
    const describe = () => ({ name: `${type} review`, kind: 'server', attributes: {} }) as const
    const work = new TracedWork('review', this.#lazySpan(describe, parent), () => [])
    const { span } = work
    if (span.start() === undefined) return run()
    try {
      return await this.#recorder.runIn(work.context, span, {
        run,
        toEnd: (response) => ({
          attributes: { [attributes.allowed]: allowedOf(response) },
          isFailed: work.hasFailed,
        }),
        // A malformed review is a mistake of the caller, as a status 4xx of a web server.
        toFailure: (error) =>
          isOf(error, WebhookError) ? { attributes: { [attributes.errorType]: nameError(error) } } : { error },
      })
    } finally {
      this.#finish(span)
    }
  }

  reviewing({ operation, isDryRun, handlers, ...subject }: SpanReviewFacts): void {
    const work = this.#active()?.work
    if (work?.type !== 'review') return
    this.#recorder.guard(() => work.span.updateName(`admission review ${nameResource(subject.resource)}`))
    this.#recorder.describe(work.span, () => ({
      attributes: {
        ...subjectAttributes({ ...subject, uid: undefined }),
        [attributes.operation]: operation,
        [attributes.dryRun]: isDryRun ? true : undefined,
        [attributes.handlerId]: handlers.length === 1 ? handlers[0] : undefined,
      },
    }))
  }

  /** The work of a handler call that is no part of other work. Its span is that of the call. */
  #createOwnWork(handler: SpanHandler, subject: (() => SpanSubject) | undefined): TracedWork {
    const links = () => toLinks(subject?.().traceparent)
    const describe = (): SpanStart => ({
      name: this.#nameCall(handler),
      kind: 'internal',
      attributes: { ...(subject && subjectAttributes(subject())), ...handlerAttributes(handler) },
      links: links(),
    })
    return new TracedWork(handler.type === 'daemon' ? 'daemon' : 'call', this.#lazySpan(describe), links)
  }

  async #runOwnWork<T>(work: TracedWork, run: () => Promise<T>): Promise<T> {
    try {
      return await runInContext(work.context, run)
    } finally {
      this.#finish(work.span)
    }
  }

  async #runOwnCall<T>(work: TracedWork, run: () => Promise<T>, outcomeOf: (result: T) => SpanOutcome): Promise<T> {
    const span = work.span.start()
    if (span === undefined) return run()
    const context = work.contextInCall(this.#active()?.context ?? work.context, span)
    return this.#recorder.runIn(context, span, { run, toEnd: (result) => endOfCall(work, outcomeOf(result)) })
  }

  #lazySpan(describe: () => SpanStart, parent: OtelContext = emptyContext): LazySpan {
    return new LazySpan((startTime) => this.#recorder.start(() => ({ ...describe(), startTime }), parent))
  }

  #finish(span: LazySpan): void {
    this.#recorder.guard(() => span.finish())
  }

  #active(): ReturnType<typeof activeWork> {
    return this.#recorder.guard(activeWork)
  }

  /** The context with the real span of a unit of work, which is created now. */
  #parentOf(context: OtelContext): OtelContext {
    const active = context.getValue(spanKey)
    if (!(active instanceof LazySpan)) return context
    const span = active.start()
    return span === undefined ? context.deleteValue(spanKey) : context.setValue(spanKey, span)
  }

  /** The span of the API server, from the headers of a review. Its baggage is not taken over: any client that reaches the port can send headers. */
  #remoteParent(headers: Readonly<Record<string, string>>): OtelContext {
    const propagation = registeredApi()?.propagation
    if (propagation === undefined) return emptyContext
    const span = this.#recorder.guard(() =>
      propagation
        .extract(emptyContext, headers, {
          keys: (carrier) => Object.keys(carrier),
          get: (carrier, key) => (Object.hasOwn(carrier, key) ? carrier[key] : undefined),
        })
        .getValue(spanKey),
    )
    return span === undefined ? emptyContext : emptyContext.setValue(spanKey, span)
  }

  #daemonLinks(work: TracedWork): NonNullable<SpanStart['links']> {
    const context = this.#recorder.guard(() => work.span.started?.spanContext())
    return [...(context === undefined ? [] : [{ context }]), ...work.links()]
  }

  #nameCall({ type, id }: SpanHandler): string {
    return type === 'subhandler' ? this.#nameOf(type, id) : `${type} ${id}`
  }

  #nameOf(prefix: string, id: string): string {
    const name = `${prefix} ${cutText(id, maxIdInName)}`
    if (this.#names.has(name)) return name
    if (this.#names.size >= maxNames) return `${prefix} *`
    this.#names.add(name)
    return name
  }
}

function endOfCall(work: TracedWork, { outcome, error, delayMs }: SpanOutcome): SpanEnd {
  const facts = {
    [attributes.outcome]: outcome,
    [attributes.retryDelay]: delayMs === undefined ? undefined : delayMs / 1000,
    [attributes.errorType]: error === undefined ? undefined : nameError(error),
  }
  const isFailure = error !== undefined && outcome !== 'succeeded' && outcome !== 'cancelled'
  if (!isFailure || isExpectedIn(work, error)) return { attributes: facts }
  work.hasFailed = true
  return { attributes: facts, error }
}

/** Unfinished sub-handlers are no failure. A denial, which is any permanent error, is the purpose of an admission handler. */
function isExpectedIn({ type }: TracedWork, error: unknown): boolean {
  if (isOf(error, ChildrenRetry)) return true
  return type === 'review' && isOf(error, PermanentError)
}
