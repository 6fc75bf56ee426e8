/**
 * The interface between the code that does the work of an operator and src/tracing, which creates the spans. Each function calls the work exactly
 * once, in the context of the span, and returns or throws what the work returns or throws. Types only.
 */

export interface Tracing {
  /** Undefined while the process has no tracer provider, and if `settings.tracing.enabled` is false. Read at each use: a provider may come later. */
  readonly spans: Spans | undefined
}

/** The object that a trace is about. */
export interface SpanSubject {
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string }
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string | undefined
  /** The annotation `tracing.k8s.io/traceparent`, if there is one. Not checked. */
  readonly traceparent: unknown
}

export interface SpanHandler {
  readonly id: string
  /** The handler type: `create`, `timer`, `subhandler` and so on. */
  readonly type: string
  /** The number of attempts before this one. */
  readonly retry: number
}

export interface SpanOutcome {
  readonly outcome: 'succeeded' | 'retrying' | 'failed' | 'cancelled'
  /** Undefined if the handler succeeded. */
  readonly error: unknown
  /** The delay before the next attempt. */
  readonly delayMs: number | undefined
}

export interface SpanRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Counts from 1. */
  readonly attempt: number
}

export interface SpanReview {
  readonly type: 'admission' | 'conversion'
  readonly headers: Readonly<Record<string, string>> | undefined
}

/** The facts about an admission request that are known after it was read. */
export interface SpanReviewFacts extends Omit<SpanSubject, 'traceparent' | 'uid'> {
  readonly operation: string
  readonly isDryRun: boolean
  /** The ids of the handlers that are called. */
  readonly handlers: readonly string[]
}

export interface Spans {
  /** The processing of one object. Its span is created with the first child, so that processing which does nothing has no span. */
  processing<T>(subject: () => SpanSubject, work: () => Promise<T>): Promise<T>
  /** The decision in the current processing, which gives its span the name. */
  decided(decision: { readonly type: string; readonly reason?: string }): void
  /** The current processing failed with an error of the framework. */
  processingFailed(error: unknown): void
  /** A call of a daemon or timer with the write of its patch: a trace of its own. */
  background<T>(handler: SpanHandler, subject: () => SpanSubject, work: () => Promise<T>): Promise<T>
  /** A call of a handler: part of the current processing or review, otherwise a trace of its own. */
  handlerCall<T>(handler: SpanHandler, work: () => Promise<T>, outcomeOf: (result: T) => SpanOutcome): Promise<T>
  /** A step of a handler that is run, not one whose result is known. */
  step<T>(step: { readonly id: string; readonly handler: string }, work: () => Promise<T>): Promise<T>
  /** One attempt of a request, as far as it is part of other work. An error is thrown, or returned as the result. */
  request<T>(request: SpanRequest, work: () => Promise<T>, codeOf: () => number | undefined): Promise<T>
  /** The headers by which the server continues the trace. Empty outside of a request with a span. */
  traceHeaders(): Readonly<Record<string, string>>
  /** A review: continues the trace of the API server. */
  review<T>(review: SpanReview, work: () => Promise<T>, allowedOf: (response: T) => boolean | undefined): Promise<T>
  /** The facts about the current review. */
  reviewing(facts: SpanReviewFacts): void
}
