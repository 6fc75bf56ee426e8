/**
 * Creates, describes and ends single spans. A provider, sampler, processor or context manager that throws does not affect the work: the first error is logged,
 * and the span is missing. Used by operator-spans.ts.
 */
import { describeError, nameError } from '../util/log/describe-error.ts'
import { cutText, isError, isExpected, toErrorText } from '../util/log/error-text.ts'
import type { Logger } from '../util/log/log.ts'
import { packageVersion } from '../util/process/package-files.ts'
import {
  type OtelAttributes,
  type OtelContext,
  type OtelSpan,
  type OtelSpanOptions,
  registeredApi,
  runInContext,
  spanKey,
} from '../util/tracing/open-telemetry.ts'

/** As in the API. */
const kinds = { internal: 0, server: 1, client: 2 } as const
const errorStatus = 2

/** Limits the texts in spans, such as errors and ids of steps: many backends reject larger values. */
const maxText = 8 * 1024

/** Attributes; undefined values are left out. */
export type PartialAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanStart extends Omit<OtelSpanOptions, 'kind' | 'attributes'> {
  readonly name: string
  readonly kind: keyof typeof kinds
  readonly attributes: PartialAttributes
}

/** The outcome of the work of a span. */
export interface SpanEnd {
  readonly attributes?: PartialAttributes
  /** An error that makes the span a failed one, with its text. */
  readonly error?: unknown
  /** Whether the work has failed; for failures without a text. Default: whether there is an error. */
  readonly isFailed?: boolean
}

/** The work inside of a span. */
export interface SpanWork<T> {
  readonly run: () => Promise<T>
  /** Describes the result. Default: nothing is added to the span. */
  readonly toEnd?: (result: T) => SpanEnd
  /** Describes an error that the work has thrown. Default: the span has failed, with the text of the error. */
  readonly toFailure?: (error: unknown) => SpanEnd
}

export class SpanRecorder {
  readonly #logger: Logger
  #hasFailed = false

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Undefined if the provider throws. The tracer is taken at each use: one that was taken before the provider is set would record nothing. */
  start(describe: () => SpanStart, parent: OtelContext): OtelSpan | undefined {
    return this.guard(() => {
      const { name, kind, attributes, links, startTime } = describe()
      const tracer = registeredApi()!.trace!.getTracer('kopf', packageVersion())
      const options = { kind: kinds[kind], attributes: present(attributes), ...(links?.length && { links }) }
      return tracer.startSpan(name, startTime === undefined ? options : { ...options, startTime }, parent)
    })
  }

  describe(span: OtelSpan, end: () => SpanEnd): void {
    this.guard(() => {
      const { attributes = {}, error, isFailed = error !== undefined } = end()
      for (const [key, value] of Object.entries(present(attributes))) span.setAttribute(key, value)
      if (!isFailed) return
      if (error === undefined) {
        span.setStatus({ code: errorStatus })
        return
      }
      const message = cutText(describeError(error), maxText)
      const stack = isError(error) && !isExpected(error) ? cutText(toErrorText(error), maxText) : undefined
      span.recordException({ name: nameError(error), message, ...(stack !== undefined && { stack }) })
      span.setStatus({ code: errorStatus, message })
    })
  }

  /** Creates a span, calls the work in its context, and ends the span. */
  async record<T>(start: SpanStart, parent: OtelContext, work: SpanWork<T>): Promise<T> {
    const span = this.start(() => start, parent)
    if (span === undefined) return work.run()
    try {
      return await this.runIn(parent.setValue(spanKey, span), span, work)
    } finally {
      this.guard(() => span.end())
    }
  }

  /** Calls the work in the context, and describes its result in the span. */
  async runIn<T>(
    context: OtelContext,
    span: OtelSpan,
    { run, toEnd = () => ({}), toFailure = (error) => ({ error }) }: SpanWork<T>,
  ): Promise<T> {
    try {
      const result = await runInContext(context, run)
      this.describe(span, () => toEnd(result))
      return result
    } catch (error) {
      this.describe(span, () => toFailure(error))
      throw error
    }
  }

  /** Returns undefined if the call throws. */
  guard<T>(call: () => T): T | undefined {
    try {
      return call()
    } catch (error) {
      if (this.#hasFailed) return undefined
      this.#hasFailed = true
      this.#logger.warn(
        `Cannot record a span: the OpenTelemetry provider of this process has thrown an error: ${describeError(error)}; ` +
          'spans may be missing, and further errors are not logged',
      )
      return undefined
    }
  }
}

function present(attributes: PartialAttributes): OtelAttributes {
  const entries = Object.entries(attributes).filter((entry) => entry[1] !== undefined)
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'string' ? cutText(value, maxText) : value!]),
  )
}
