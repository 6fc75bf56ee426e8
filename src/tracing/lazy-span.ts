/**
 * A span that is created with its first use: by a child, by user code that asks for the active span, or by our own code. It keeps the time of its
 * construction as its start. Until then it is the active span of its context, and costs nothing but this object.
 */
import type {
  OtelAttributes,
  OtelException,
  OtelLink,
  OtelSpan,
  OtelSpanContext,
} from '../util/tracing/open-telemetry.ts'

type AttributeValue = OtelAttributes[string]

/** The methods of the API that the operator does not call itself. Versions before 1.9 have no `addLink`. */
interface FullSpan extends OtelSpan {
  setAttributes(attributes: OtelAttributes): unknown
  addEvent(name: string, ...rest: readonly unknown[]): unknown
  addLink?(link: OtelLink): unknown
  addLinks?(links: readonly OtelLink[]): unknown
  isRecording(): boolean
}

/** The ids of a span that does not exist, as the API defines them. */
const invalidContext: OtelSpanContext = { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }

export class LazySpan implements FullSpan {
  readonly #create: (startMs: number) => OtelSpan | undefined
  readonly #startMs = Date.now()
  readonly #startedAt = performance.now()
  #span: FullSpan | undefined
  #isStarted = false
  #isOver = false

  /** `create` must not throw. */
  constructor(create: (startMs: number) => OtelSpan | undefined) {
    this.#create = create
  }

  /** Read by `currentSpan`: a log line alone does not create the span. */
  get isUnstarted(): boolean {
    return this.#span === undefined
  }

  /** The real span, created if necessary. Undefined if the provider fails, or if the work has ended without a span. */
  start(): OtelSpan | undefined {
    if (!this.#isStarted && !this.#isOver) {
      this.#isStarted = true
      this.#span = this.#create(this.#startMs) as FullSpan | undefined
    }
    return this.#span
  }

  /** The real span, if it was created. */
  get started(): OtelSpan | undefined {
    return this.#span
  }

  /** Ends the span, if it was created. Called by the owner only. */
  finish(): void {
    this.#isOver = true
    // The start was given in whole milliseconds: the end is computed from it, so that it is not before the end of a child.
    this.#span?.end(this.#startMs + performance.now() - this.#startedAt)
  }

  spanContext(): OtelSpanContext {
    return this.start()?.spanContext() ?? invalidContext
  }

  setAttribute(key: string, value: AttributeValue): this {
    this.start()?.setAttribute(key, value)
    return this
  }

  setAttributes(values: OtelAttributes): this {
    this.start()
    this.#span?.setAttributes(values)
    return this
  }

  addEvent(name: string, ...rest: readonly unknown[]): this {
    this.start()
    this.#span?.addEvent(name, ...rest)
    return this
  }

  addLink(link: OtelLink): this {
    this.start()
    this.#span?.addLink?.(link)
    return this
  }

  addLinks(links: readonly OtelLink[]): this {
    this.start()
    this.#span?.addLinks?.(links)
    return this
  }

  setStatus(status: { readonly code: number; readonly message?: string }): this {
    this.start()?.setStatus(status)
    return this
  }

  updateName(name: string): this {
    this.start()?.updateName(name)
    return this
  }

  isRecording(): boolean {
    this.start()
    return this.#span?.isRecording() ?? false
  }

  recordException(exception: OtelException): void {
    this.start()?.recordException(exception)
  }

  /** Has no effect: the operator ends the span with its work. */
  end(): void {}
}
