/** The three types of metrics: counters, gauges and histograms. Each series holds its own numbers; the lookup of series is in metric.ts. */
import type {
  Counter,
  CounterSeries,
  Gauge,
  GaugeSeries,
  Histogram,
  HistogramSeries,
} from '../handlers/args/metrics.ts'
import { type AnyLabels, type Exemplar, type LabelledSeries, Metric, type MetricDefinition } from './metric.ts'

/** The labels, if the metric has any, then the number, as in prom-client. */
type LabelledArguments = readonly [labels: AnyLabels, value?: number] | readonly [value?: number]

interface ReadArguments {
  readonly labels: AnyLabels | undefined
  readonly value: number | undefined
}

/** Values of a wrong type are refused by the series, which names the metric. */
function readArguments([first, second]: LabelledArguments): ReadArguments {
  return typeof first === 'object' && first !== null
    ? { labels: first, value: second }
    : { labels: undefined, value: first }
}

class CounterValue implements CounterSeries, LabelledSeries {
  readonly values: readonly string[]
  exemplar: Exemplar | undefined
  readonly #metric: CounterMetric
  #value = 0

  constructor(metric: CounterMetric, values: readonly string[]) {
    this.#metric = metric
    this.values = values
  }

  get value(): number {
    return this.#value
  }

  inc(amount = 1): void {
    if (typeof amount !== 'number' || !(amount >= 0 && amount < Infinity)) throw this.#metric.refuse(amount)
    this.#value += amount
    if (this.#metric.hasTraces) this.exemplar = this.#metric.exemplarOf(amount) ?? this.exemplar
  }
}

export class CounterMetric extends Metric<CounterValue> implements Counter<string> {
  readonly type = 'counter'

  protected createSeries(values: readonly string[]): CounterValue {
    return new CounterValue(this, values)
  }

  inc(...args: LabelledArguments): void {
    const { labels, value } = readArguments(args)
    this.series(labels).inc(value)
  }

  labels(labels?: AnyLabels): CounterValue {
    return this.series(labels)
  }

  remove(labels?: AnyLabels): void {
    this.delete(labels)
  }

  refuse(amount: unknown): Error {
    return this.valueError(
      amount,
      'a counter only increases, by a number that is not negative; use a gauge for other values',
    )
  }
}

class GaugeValue implements GaugeSeries, LabelledSeries {
  readonly values: readonly string[]
  readonly #metric: GaugeMetric
  #value = 0

  constructor(metric: GaugeMetric, values: readonly string[]) {
    this.#metric = metric
    this.values = values
  }

  get value(): number {
    return this.#value
  }

  set(value: number): void {
    if (typeof value !== 'number') throw this.#metric.refuse(value)
    this.#value = value
  }

  inc(amount = 1): void {
    if (typeof amount !== 'number') throw this.#metric.refuse(amount)
    this.#value += amount
  }

  dec(amount = 1): void {
    if (typeof amount !== 'number') throw this.#metric.refuse(amount)
    this.#value -= amount
  }
}

export class GaugeMetric extends Metric<GaugeValue> implements Gauge<string> {
  readonly type = 'gauge'

  protected createSeries(values: readonly string[]): GaugeValue {
    return new GaugeValue(this, values)
  }

  set(...args: LabelledArguments): void {
    const { labels, value } = readArguments(args)
    this.series(labels).set(value as number)
  }

  inc(...args: LabelledArguments): void {
    const { labels, value } = readArguments(args)
    this.series(labels).inc(value)
  }

  dec(...args: LabelledArguments): void {
    const { labels, value } = readArguments(args)
    this.series(labels).dec(value)
  }

  labels(labels?: AnyLabels): GaugeValue {
    return this.series(labels)
  }

  remove(labels?: AnyLabels): void {
    this.delete(labels)
  }

  refuse(value: unknown): Error {
    return this.valueError(value, 'it is not a number')
  }
}

class HistogramValue implements HistogramSeries, LabelledSeries {
  readonly values: readonly string[]
  /** The number of values in each bucket alone; the last one is that of infinity. */
  readonly counts: Float64Array
  /** By bucket. */
  exemplars: Exemplar[] | undefined
  readonly #metric: HistogramMetric
  #count = 0
  #sum = 0
  #labels: AnyLabels | undefined

  constructor(metric: HistogramMetric, values: readonly string[]) {
    this.#metric = metric
    this.values = values
    this.counts = new Float64Array(metric.buckets.length + 1)
  }

  get count(): number {
    return this.#count
  }

  get sum(): number {
    return this.#sum
  }

  observe(value: number): void {
    const metric = this.#metric
    if (typeof value !== 'number' || Number.isNaN(value)) throw metric.refuse(value)
    const bucket = metric.bucketOf(value)
    this.counts[bucket]! += 1
    this.#count += 1
    this.#sum += value
    if (metric.hasTraces) this.#keepExemplar(bucket, value)
    if (metric.isMirrored) this.#mirror(value)
  }

  #mirror(value: number): void {
    this.#labels ??= this.#metric.labelsOf(this)
    this.#metric.mirror(value, this.#labels)
  }

  #keepExemplar(bucket: number, value: number): void {
    const exemplar = this.#metric.exemplarOf(value)
    if (exemplar === undefined) return
    this.exemplars ??= []
    this.exemplars[bucket] = exemplar
  }
}

export class HistogramMetric extends Metric<HistogramValue> implements Histogram<string> {
  readonly type = 'histogram'
  /** Ascending, without infinity. */
  readonly buckets: readonly number[]

  constructor(definition: MetricDefinition, buckets: readonly number[]) {
    super(definition)
    this.buckets = buckets
  }

  protected createSeries(values: readonly string[]): HistogramValue {
    return new HistogramValue(this, values)
  }

  observe(...args: LabelledArguments): void {
    const { labels, value } = readArguments(args)
    this.series(labels).observe(value as number)
  }

  labels(labels?: AnyLabels): HistogramValue {
    return this.series(labels)
  }

  remove(labels?: AnyLabels): void {
    this.delete(labels)
  }

  /** The index of the first bucket whose upper bound is not below the value. */
  bucketOf(value: number): number {
    let low = 0
    let high = this.buckets.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.buckets[middle]! < value) low = middle + 1
      else high = middle
    }
    return low
  }

  get isMirrored(): boolean {
    return this.context.onObserved !== undefined
  }

  mirror(value: number, labels: AnyLabels): void {
    this.context.onObserved?.(this.name, value, labels)
  }

  refuse(value: unknown): Error {
    return this.valueError(value, 'it is not a number')
  }
}

export type AnyMetric = CounterMetric | GaugeMetric | HistogramMetric
