/** Compares the types by which the operator uses the OpenTelemetry API with those of the real API. Checked by the compiler. */
import type {
  Context,
  ContextManager,
  Link,
  Span,
  SpanOptions,
  TextMapPropagator,
  TracerProvider,
} from '@opentelemetry/api'
import type { LazySpan } from '../../src/tracing/lazy-span.ts'
import type { OtelApi, OtelContext, OtelLink, OtelSpanOptions } from '../../src/util/tracing/open-telemetry.ts'

declare const provider: TracerProvider
declare const manager: ContextManager
declare const propagator: TextMapPropagator<Record<string, string>>
declare const context: OtelContext
declare const lazySpan: LazySpan
declare const link: OtelLink
declare const options: OtelSpanOptions

/** The registered parts can be used by the operator. */
export const api: OtelApi = {
  trace: provider,
  context: manager,
  propagation: propagator,
}

/** Values of the operator can be used by the API. */
export const ofContext: Context = context
export const ofSpan: Pick<Span, 'spanContext' | 'isRecording' | 'end' | 'setStatus' | 'recordException'> = lazySpan
export const ofLink: Link = link
export const ofOptions: SpanOptions = options
