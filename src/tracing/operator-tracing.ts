/** Decides whether an operator creates spans now: if the process has a tracer provider, and the settings allow it. Created by run/bootstrap.ts. */
import type { Logger } from '../util/log/log.ts'
import { registeredApi } from '../util/tracing/open-telemetry.ts'
import type { Spans, Tracing } from '../util/tracing/spans.ts'
import { OperatorSpans } from './operator-spans.ts'

export interface OperatorTracingOptions {
  /** `settings.tracing`, which startup handlers may change. */
  readonly settings: { readonly enabled: boolean }
  readonly logger: Logger
  /** The address of the API server; undefined if it is not known. */
  readonly server: () => string | undefined
}

export class OperatorTracing implements Tracing {
  readonly #settings: OperatorTracingOptions['settings']
  readonly #logger: Logger
  readonly #spans: OperatorSpans
  #hasWarned = false

  constructor(options: OperatorTracingOptions) {
    this.#settings = options.settings
    this.#logger = options.logger
    this.#spans = new OperatorSpans(options)
  }

  /** The provider is looked for at each use: it may be registered in a startup handler, or even later. */
  get spans(): Spans | undefined {
    const api = registeredApi()
    if (api?.trace === undefined || !this.#settings.enabled) return undefined
    if (api.context === undefined) this.#warnOfContext()
    return this.#spans
  }

  /** Without a context manager, the spans of one object would be unrelated, and requests have none. */
  #warnOfContext(): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#logger.warn(
      'The OpenTelemetry tracer provider of this process is registered without a context manager, so that spans have no parents: ' +
        'register it with "provider.register()" of @opentelemetry/sdk-trace-node, or with the NodeSDK',
    )
  }
}
