/** The spans of a test file, recorded by the real OpenTelemetry SDK in memory, and shown as trees. */
import { context, propagation, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Lab } from '../support/lab.ts'

export class Traces {
  readonly #exporter = new InMemorySpanExporter()
  /** The ids of spans in the order of their starts. */
  readonly #started: string[] = []

  register(...others: SpanProcessor[]): void {
    const order: SpanProcessor = {
      onStart: (span) => void this.#started.push(span.spanContext().spanId),
      onEnd() {},
      forceFlush: async () => {},
      shutdown: async () => {},
    }
    const spanProcessors = [order, new SimpleSpanProcessor(this.#exporter), ...others]
    new NodeTracerProvider({ spanProcessors }).register()
  }

  unregister(): void {
    trace.disable()
    context.disable()
    propagation.disable()
  }

  reset(): void {
    this.#exporter.reset()
    this.#started.length = 0
  }

  /** All ended spans, in the order of their starts. */
  get spans(): readonly ReadableSpan[] {
    const position = (span: ReadableSpan) => this.#started.indexOf(span.spanContext().spanId)
    return [...this.#exporter.getFinishedSpans()].sort((a, b) => position(a) - position(b))
  }

  get roots(): readonly ReadableSpan[] {
    return this.spans.filter(({ parentSpanContext }) => parentSpanContext === undefined)
  }

  /** The first span with a name that begins so. */
  span(prefix: string): ReadableSpan {
    const found = this.spans.find(({ name }) => name.startsWith(prefix))
    if (found === undefined) throw new Error(`No span "${prefix}" among:\n${this.names.join('\n')}`)
    return found
  }

  get names(): readonly string[] {
    return this.spans.map(({ name }) => name)
  }

  /** One line per span, indented below its parent. The group of the lab is `example.com`. A failed span ends with `!`. */
  tree(lab: Pick<Lab, 'group'>, roots: readonly ReadableSpan[] = this.roots): readonly string[] {
    const lines = (span: ReadableSpan): string[] => {
      const { spanId } = span.spanContext()
      const children = this.spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId)
      const name = span.name.replaceAll(lab.group, 'example.com') + (span.status.code === 2 ? ' !' : '')
      return [name, ...children.flatMap(lines).map((line) => `  ${line}`)]
    }
    return roots.flatMap(lines)
  }
}

/** Registers a tracer provider for the tests of this file. */
export function useTraces(): Traces {
  const traces = new Traces()
  beforeAll(() => traces.register())
  // Before each test: the operators of the last one end their spans when they are stopped.
  beforeEach(() => traces.reset())
  afterAll(() => traces.unregister())
  return traces
}
