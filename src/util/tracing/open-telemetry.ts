/**
 * Access to the OpenTelemetry API of the process. Every copy of `@opentelemetry/api` 1.x keeps its state in one global object, so that copies of
 * different versions work together; this file reads that object, and no package is loaded. src/tracing creates the spans. This file also finds
 * the active span for log lines and exemplars, and runs background work outside of the trace of the handler that caused it.
 */

/** A set of values that follows the code through `await`. Immutable. */
export interface OtelContext {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): OtelContext
  deleteValue(key: symbol): OtelContext
}

export interface OtelSpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
  readonly isRemote?: boolean
}

export type OtelAttributes = Readonly<Record<string, string | number | boolean>>

export interface OtelLink {
  readonly context: OtelSpanContext
}

export interface OtelException {
  readonly name: string
  readonly message: string
  readonly stack?: string
}

/** The part of a span that the operator uses. */
export interface OtelSpan {
  spanContext(): OtelSpanContext
  setAttribute(key: string, value: string | number | boolean): unknown
  setStatus(status: { readonly code: number; readonly message?: string }): unknown
  updateName(name: string): unknown
  recordException(exception: OtelException): void
  end(endTime?: number): void
}

export interface OtelSpanOptions {
  readonly kind: number
  readonly attributes: OtelAttributes
  readonly links?: OtelLink[]
  /** Milliseconds since the epoch. */
  readonly startTime?: number
}

interface OtelTracer {
  startSpan(name: string, options: OtelSpanOptions, context: OtelContext): OtelSpan
}

interface OtelContextManager {
  active(): OtelContext
  with<T>(context: OtelContext, fn: () => T): T
}

type Carrier = Record<string, string>

interface OtelPropagator {
  inject(
    context: OtelContext,
    carrier: Carrier,
    setter: { set(carrier: Carrier, key: string, value: string): void },
  ): void
  extract(
    context: OtelContext,
    carrier: Readonly<Carrier>,
    getter: {
      keys(carrier: Readonly<Carrier>): string[]
      get(carrier: Readonly<Carrier>, key: string): string | undefined
    },
  ): OtelContext
}

/** The registered parts of the API. Each is missing until the user's process registers it. */
export interface OtelApi {
  readonly trace?: { getTracer(name: string, version?: string): OtelTracer }
  readonly context?: OtelContextManager
  readonly propagation?: OtelPropagator
  /** The provider of meters, which src/metrics uses. */
  readonly metrics?: unknown
}

/** The key of the global object, as in all versions 1.x of the API. */
const apiKey: unique symbol = Symbol.for('opentelemetry.js.api.1') as never

/** The key of the active span in a context, as in all versions 1.x of the API. */
export const spanKey: symbol = Symbol.for('OpenTelemetry Context Key SPAN')

/** The key of a span that counts for log lines although it is not the parent of further spans: that of a daemon. */
export const logSpanKey: symbol = Symbol.for('kopf.tracing.log-span')

/** Undefined if nothing is registered. */
export function registeredApi(): OtelApi | undefined {
  return (globalThis as { readonly [apiKey]?: OtelApi })[apiKey]
}

class PlainContext implements OtelContext {
  readonly #values: ReadonlyMap<symbol, unknown>

  constructor(values: ReadonlyMap<symbol, unknown>) {
    this.#values = values
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key)
  }

  setValue(key: symbol, value: unknown): OtelContext {
    return new PlainContext(new Map(this.#values).set(key, value))
  }

  deleteValue(key: symbol): OtelContext {
    const values = new Map(this.#values)
    values.delete(key)
    return new PlainContext(values)
  }
}

/** A context without a span and without baggage of the code that is running. */
export const emptyContext: OtelContext = /* @__PURE__ */ new PlainContext(/* @__PURE__ */ new Map())

/** The context of the running code; undefined if no context manager is registered, or if it fails. */
export function activeContext(): OtelContext | undefined {
  try {
    return registeredApi()?.context?.active()
  } catch {
    return undefined
  }
}

/** Calls the function in the context, exactly once: also if the context manager is missing or fails. */
export function runInContext<T>(context: OtelContext, fn: () => T): T {
  const manager = registeredApi()?.context
  if (manager === undefined) return fn()
  let isCalled = false
  let returned: { readonly value: T } | undefined
  try {
    manager.with(context, () => {
      isCalled = true
      returned = { value: fn() }
    })
  } catch (error) {
    // The error of the function itself. Errors of the context manager have no effect.
    if (isCalled && returned === undefined) throw error
  }
  return returned === undefined ? fn() : (returned as { readonly value: T }).value
}

/** Starts work that does not belong to what the running code does: no span of the running code is its parent. */
export function runDetached<T>(fn: () => T): T {
  return registeredApi() === undefined ? fn() : runInContext(emptyContext, fn)
}

/** The function, called in the context that is active now: for messages that arrive outside of it. */
export function bindToContext<A>(fn: (arg: A) => void): (arg: A) => void {
  if (registeredApi() === undefined) return fn
  const context = activeContext()
  return context === undefined ? fn : (arg) => runInContext(context, () => fn(arg))
}

interface ActiveSpan extends OtelSpan {
  /** A span of src/tracing that is created with its first child does not exist yet. */
  readonly isUnstarted?: boolean
}

/** The ids of a span, as W3C Trace Context writes them. */
export interface SpanIds {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  /** Whether the span is recorded: exemplars refer only to such spans. */
  readonly isSampled: boolean
}

/** The active span of the running code. Undefined without a tracer provider. Never throws. */
export function currentSpan(): SpanIds | undefined {
  const manager = registeredApi()?.context
  if (manager === undefined) return undefined
  try {
    const context = manager.active()
    const span = (context.getValue(spanKey) ?? context.getValue(logSpanKey)) as ActiveSpan | undefined
    if (span === undefined || span.isUnstarted) return undefined
    const { traceId, spanId, traceFlags } = span.spanContext()
    return isTraceId(traceId) && isSpanId(spanId) ? { traceId, spanId, isSampled: (traceFlags & 1) === 1 } : undefined
  } catch {
    return undefined
  }
}

/** An id of zeros only is invalid, as W3C Trace Context says. */
export function isTraceId(id: unknown): id is string {
  return typeof id === 'string' && /^(?!0{32})[0-9a-f]{32}$/.test(id)
}

export function isSpanId(id: unknown): id is string {
  return typeof id === 'string' && /^(?!0{16})[0-9a-f]{16}$/.test(id)
}
