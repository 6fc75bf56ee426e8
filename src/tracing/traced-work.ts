/**
 * One unit of work that has a trace of its own, or is the entry of a trace: the processing of an object, a call of a daemon or timer, a review. It is in the
 * OpenTelemetry context of everything that the work does. Created by operator-spans.ts.
 */
import {
  activeContext,
  emptyContext,
  isSpanId,
  isTraceId,
  logSpanKey,
  type OtelContext,
  type OtelLink,
  spanKey,
} from '../util/tracing/open-telemetry.ts'
import type { LazySpan } from './lazy-span.ts'

/** `call`: the span of the work is that of one handler call, as for timers and activities. `daemon`: as well, but not the parent of other spans. */
export type WorkType = 'processing' | 'call' | 'daemon' | 'review'

/** A reason replaces one with a lower rank in the name of the processing: handlers say more about it than finalizers. */
const reasonRanks = { finalizer: 1, event: 2, reconcile: 3, change: 4 } as const

const workKey: symbol = Symbol.for('kopf.tracing.work')

export class TracedWork {
  readonly type: WorkType
  readonly span: LazySpan
  /** The links of spans that have no parent. */
  readonly links: () => OtelLink[]
  /** The largest number of earlier attempts of a handler in this work. */
  retry = 0
  /** The number of handler calls in this work. */
  calls = 0
  /** A handler of this work has failed. */
  hasFailed = false
  /** The error of the framework with which the work has ended. */
  error: unknown
  #reason: string | undefined
  #rank = 0

  constructor(type: WorkType, span: LazySpan, links: () => OtelLink[]) {
    this.type = type
    this.span = span
    this.links = links
  }

  get reason(): string | undefined {
    return this.#reason
  }

  setReason(reason: string, kind: keyof typeof reasonRanks): void {
    if (reasonRanks[kind] <= this.#rank) return
    this.#rank = reasonRanks[kind]
    this.#reason = reason
  }

  /** The context for the code of the work, without the context of the code that has caused it. */
  get context(): OtelContext {
    const context = emptyContext.setValue(workKey, this)
    return this.type === 'daemon' ? context : context.setValue(spanKey, this.span)
  }

  /**
   * The context for the code inside of a handler call that has this span. A call of a daemon may last for months: its span gives log lines their ids, but
   * is not the parent of the spans of requests and of user code, which would become one endless trace.
   */
  contextInCall(context: OtelContext, span: unknown): OtelContext {
    return context.setValue(this.type === 'daemon' ? logSpanKey : spanKey, span)
  }
}

/** The context of the running code with its work; undefined outside of any work. */
export function activeWork(): { readonly context: OtelContext; readonly work: TracedWork } | undefined {
  const context = activeContext()
  const work = context?.getValue(workKey)
  return work instanceof TracedWork ? { context: context!, work } : undefined
}

/**
 * A link to the trace in the annotation `tracing.k8s.io/traceparent` of an object (KEP-5915). No link unless the value has exactly the format of version 00
 * of W3C Trace Context: the author of an object can write anything there. The value is never the parent of a span: it may be years old, and its author would
 * decide which traces are sampled.
 */
export function toLinks(traceparent: unknown): OtelLink[] {
  if (typeof traceparent !== 'string' || traceparent.length !== 55) return []
  const [version, traceId, spanId, flags = ''] = traceparent.split('-')
  if (version !== '00' || !isTraceId(traceId) || !isSpanId(spanId) || !/^[0-9a-f]{2}$/.test(flags)) return []
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true } }]
}
