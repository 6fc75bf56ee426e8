/**
 * The metrics of an operator: of the framework and of the user. One registry per operator, shared by its runs. Metrics are created on first use;
 * exposition.ts writes them, foreign-registry.ts adds those of another library, opentelemetry.ts mirrors them.
 */
import type { Counter, Gauge, Histogram, HistogramOptions, MetricOptions } from '../handlers/args/metrics.ts'
import { systemClock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import type { Family } from './exposition.ts'
import type { ForeignMetrics } from './foreign-registry.ts'
import { type AnyMetric, CounterMetric, GaugeMetric, HistogramMetric } from './instruments.ts'
import type { AnyLabels, CurrentTrace, MetricContext, MetricDefinition, MetricType } from './metric.ts'
import { checkBuckets, checkLabelNames, checkName, defaultBuckets, failWith, sampleNames } from './names.ts'
import { contentTypes, negotiateFormat } from './negotiation.ts'

/** Updates gauges whose values are read only for an exposition. Called before each of them. */
export type MetricsCollector = () => void | Promise<void>

export interface Exposition {
  readonly contentType: string
  readonly body: string
}

export interface MetricSummary {
  readonly name: string
  readonly type: MetricType
  readonly help: string
  readonly labelNames: readonly string[]
  /** Undefined for other types than histograms. */
  readonly buckets: readonly number[] | undefined
}

/** Follows the metrics of the registry, for OpenTelemetry. */
export interface MetricsMirror {
  /** Called for each metric that exists, and for each one that is created later. */
  readonly onCreated: (metric: AnyMetric) => void
  /** Called for each value of a histogram. */
  readonly onObserved: (metric: string, value: number, labels: AnyLabels) => void
}

const defaultMaxSeries = 1000

export class MetricsRegistry {
  readonly #metrics = new Map<string, AnyMetric>()
  /** The metric that has a sample of this name. */
  readonly #samples = new Map<string, string>()
  readonly #collectors = new Set<MetricsCollector>()
  readonly #context: { -readonly [K in keyof MetricContext]: MetricContext[K] }
  readonly #logged = new Set<string>()
  #collecting: Promise<void> | undefined
  #logger: Logger | undefined
  #foreign: ForeignMetrics | undefined
  #mirror: MetricsMirror | undefined

  constructor({ now = () => systemClock.now() }: { readonly now?: () => number } = {}) {
    this.#context = {
      now,
      traceSource: undefined,
      onObserved: undefined,
      onOverflow: (metric, maxSeries) =>
        this.#warnOnce(
          `overflow ${metric}`,
          `The metric "${metric}" has ${maxSeries} series: further combinations of label values are counted as "other". ` +
            'Use labels with few values, or raise "maxSeries"',
        ),
    }
  }

  counter<const L extends string = never>(name: string, options: MetricOptions<L>): Counter<L> {
    const metric: unknown = this.#getOrCreate('counter', name, options, (definition) => new CounterMetric(definition))
    return metric as Counter<L>
  }

  gauge<const L extends string = never>(name: string, options: MetricOptions<L>): Gauge<L> {
    const metric: unknown = this.#getOrCreate('gauge', name, options, (definition) => new GaugeMetric(definition))
    return metric as Gauge<L>
  }

  histogram<const L extends string = never>(name: string, options: HistogramOptions<L>): Histogram<L> {
    const { buckets } = options
    const create = (definition: MetricDefinition) =>
      new HistogramMetric(definition, checkBuckets(name, buckets ?? defaultBuckets))
    const metric = this.#getOrCreate('histogram', name, options, create) as HistogramMetric
    if (buckets !== undefined && !isSameList(checkBuckets(name, buckets), metric.buckets)) {
      failWith(
        'histogram',
        name,
        `it exists with the buckets ${metric.buckets.join(', ')}; give it the same buckets everywhere`,
      )
    }
    const typed: unknown = metric
    return typed as Histogram<L>
  }

  /** The value of one series; of a histogram, the number of values. Undefined if there is no such series. */
  read(name: string, labels?: AnyLabels): number | undefined {
    const metric = this.#metrics.get(name)
    const series = metric?.find(labels)
    return series === undefined ? undefined : 'count' in series ? series.count : series.value
  }

  /** Removes all series of a metric for which the predicate holds. It gets the label values in the order of the label names. */
  removeSeries(name: string, isRemoved: (values: readonly string[]) => boolean): void {
    this.#metrics.get(name)?.deleteWhere(isRemoved)
  }

  get names(): readonly string[] {
    return [...this.#metrics.keys()].sort()
  }

  /** All metrics without their values, in the order of their names, for the reference. */
  get definitions(): readonly MetricSummary[] {
    return this.names.map((name) => {
      const metric = this.#metrics.get(name)!
      const { type, help, labelNames } = metric
      return { name, type, help, labelNames, buckets: metric.type === 'histogram' ? metric.buckets : undefined }
    })
  }

  /** Adds a collector. Returns a function that removes it. An error of the collector is logged once, and its metrics keep their last values. */
  onCollect(collector: MetricsCollector): () => void {
    this.#collectors.add(collector)
    return () => this.#collectors.delete(collector)
  }

  /** The log for problems with metrics. Each problem is logged once. */
  set logger(logger: Logger) {
    this.#logger = logger
  }

  /** Gives the exemplars of counters and histograms their traces. */
  set traceSource(source: (() => CurrentTrace | undefined) | undefined) {
    this.#context.traceSource = source
  }

  /** The metrics of another library, which are served together with these. */
  set foreign(foreign: ForeignMetrics | undefined) {
    this.#foreign = foreign
  }

  set mirror(mirror: MetricsMirror | undefined) {
    this.#mirror = mirror
    this.#context.onObserved = mirror?.onObserved
    if (mirror !== undefined) for (const metric of this.#metrics.values()) mirror.onCreated(metric)
  }

  /** Runs the collectors. Concurrent calls share one run. */
  collect(): Promise<void> {
    this.#collecting ??= this.#collectAll().finally(() => {
      this.#collecting = undefined
    })
    return this.#collecting
  }

  /** The text of all metrics, in the format that the header `Accept` prefers. */
  async render(accept: string | undefined): Promise<Exposition> {
    // Without an endpoint, nothing is rendered, and this code is not loaded.
    const { familyOf, renderFamilies } = await import('./exposition.ts')
    const format = negotiateFormat(accept)
    const [foreign] = await Promise.all([this.#readForeign(), this.collect()])
    const own = [...this.#metrics.values()].map(familyOf)
    return { contentType: contentTypes[format], body: renderFamilies([...own, ...foreign], format) }
  }

  async #readForeign(): Promise<readonly Family[]> {
    if (this.#foreign === undefined) return []
    return this.#foreign.read((name) => this.#samples.has(name))
  }

  async #collectAll(): Promise<void> {
    await Promise.all(
      Array.from(this.#collectors, async (collector, index) => {
        try {
          await collector()
        } catch (error) {
          this.#warnOnce(`collector ${index}`, `Some metrics could not be read: ${describeError(error)}`)
        }
      }),
    )
  }

  #getOrCreate(
    type: MetricType,
    name: string,
    options: MetricOptions<string>,
    create: (definition: MetricDefinition) => AnyMetric,
  ): AnyMetric {
    const known = this.#metrics.get(name)
    if (known === undefined) return this.#create(type, name, options, create)
    if (known.type !== type) failWith(type, name, `it exists as a ${known.type}; use another name`)
    if (!isSameSet(options.labels ?? [], known.labelNames)) {
      const names = known.labelNames.length === 0 ? 'no labels' : `the labels ${known.labelNames.join(', ')}`
      failWith(type, name, `it exists with ${names}; give it the same labels everywhere`)
    }
    return known
  }

  #create(
    type: MetricType,
    name: string,
    { help, labels = [], maxSeries = defaultMaxSeries }: MetricOptions<string>,
    create: (definition: MetricDefinition) => AnyMetric,
  ): AnyMetric {
    checkName(type, name)
    checkLabelNames(type, name, labels)
    if (typeof help !== 'string' || help === '')
      failWith(type, name, '"help" is missing: say in one sentence what it measures')
    if (!(Number.isInteger(maxSeries) && maxSeries >= 1)) failWith(type, name, '"maxSeries" is no positive integer')
    for (const sample of sampleNames(type, name)) {
      const other = this.#samples.get(sample)
      if (other !== undefined)
        failWith(type, name, `the metric "${other}" has samples of the same name; use another name`)
    }
    const metric = create({ name, help, labelNames: [...labels], maxSeries, context: this.#context })
    for (const sample of sampleNames(type, name)) this.#samples.set(sample, name)
    this.#metrics.set(name, metric)
    // Its series exists from the start, so that a rate can be computed from the first addition on.
    if (labels.length === 0) metric.series(undefined)
    this.#mirror?.onCreated(metric)
    return metric
  }

  #warnOnce(key: string, message: string): void {
    if (this.#logged.has(key)) return
    this.#logged.add(key)
    this.#logger?.warn(message)
  }
}

function isSameList(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value) => b.includes(value))
}
