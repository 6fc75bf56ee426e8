/**
 * Mirrors the metrics to OpenTelemetry if the user has registered a provider of meters. The API of OpenTelemetry keeps the provider at a well-known place of
 * the process: without one, nothing is loaded, and with one, no package is needed. Counters and gauges are read when OpenTelemetry collects; the values of
 * histograms are recorded one by one, since a histogram cannot be read.
 */
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { packageVersion } from '../util/process/package-files.ts'
import { registeredApi } from '../util/tracing/open-telemetry.ts'
import type { AnyMetric } from './instruments.ts'
import type { AnyLabels } from './metric.ts'
import type { MetricsRegistry } from './registry.ts'

/** The part of the API that is used here; types of the package would be needed by everyone who checks ours. */
interface OpenTelemetryProvider {
  getMeter(name: string, version?: string): OpenTelemetryMeter
}

interface InstrumentOptions {
  readonly description: string
  readonly advice?: { readonly explicitBucketBoundaries: number[] }
}

interface Observable {
  addCallback(callback: ObservableCallback): void
  removeCallback(callback: ObservableCallback): void
}

interface ObservableResult {
  observe(value: number, attributes: AnyLabels): void
}

type ObservableCallback = (result: ObservableResult) => void | Promise<void>

interface OpenTelemetryMeter {
  createHistogram(name: string, options: InstrumentOptions): { record(value: number, attributes: AnyLabels): void }
  createObservableCounter(name: string, options: InstrumentOptions): Observable
  createObservableGauge(name: string, options: InstrumentOptions): Observable
}

type RecordedHistogram = ReturnType<OpenTelemetryMeter['createHistogram']>

/** Returns a function that ends the mirroring. Undefined if no provider of meters is registered. */
export function mirrorToOpenTelemetry(
  registry: MetricsRegistry,
  { logger }: { readonly logger: Logger },
): (() => void) | undefined {
  const provider = findProvider()
  if (provider === undefined) return undefined
  const mirror = new Mirror(registry, provider.getMeter('kopf', packageVersion()), logger)
  registry.mirror = mirror
  return () => {
    registry.mirror = undefined
    mirror.end()
  }
}

function findProvider(): OpenTelemetryProvider | undefined {
  const provider = registeredApi()?.metrics as OpenTelemetryProvider | undefined
  return typeof provider?.getMeter === 'function' ? provider : undefined
}

class Mirror {
  readonly #registry: MetricsRegistry
  readonly #meter: OpenTelemetryMeter
  readonly #logger: Logger
  readonly #histograms = new Map<string, RecordedHistogram>()
  readonly #callbacks: Array<readonly [Observable, ObservableCallback]> = []
  #hasFailed = false

  constructor(registry: MetricsRegistry, meter: OpenTelemetryMeter, logger: Logger) {
    this.#registry = registry
    this.#meter = meter
    this.#logger = logger
  }

  readonly onCreated = (metric: AnyMetric): void => this.#guard(() => this.#create(metric))

  readonly onObserved = (metric: string, value: number, labels: AnyLabels): void =>
    this.#guard(() => this.#histograms.get(metric)?.record(value, labels))

  end(): void {
    for (const [observable, callback] of this.#callbacks) this.#guard(() => observable.removeCallback(callback))
  }

  #create(metric: AnyMetric): void {
    const { name, help: description } = metric
    if (metric.type === 'histogram') {
      // Otherwise an exporter could choose other buckets than those of the endpoint.
      const advice = { explicitBucketBoundaries: [...metric.buckets] }
      this.#histograms.set(name, this.#meter.createHistogram(name, { description, advice }))
      return
    }
    const observable =
      metric.type === 'counter'
        ? this.#meter.createObservableCounter(name, { description })
        : this.#meter.createObservableGauge(name, { description })
    const callback: ObservableCallback = async (result) => {
      await this.#registry.collect()
      for (const series of metric.sorted()) result.observe(series.value, metric.labelsOf(series))
    }
    observable.addCallback(callback)
    this.#callbacks.push([observable, callback])
  }

  /** An error of the SDK must not reach the code that records a value. */
  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!this.#hasFailed) this.#logger.warn(`Cannot mirror the metrics to OpenTelemetry: ${describeError(error)}`)
      this.#hasFailed = true
    }
  }
}
