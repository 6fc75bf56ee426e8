/** Types of the `metrics` argument: counters, gauges and histograms of the user. The folder metrics/ implements them. */

/** The values of the labels `L` of one series. Numbers are written in decimal. */
export type LabelValues<L extends string> = { readonly [K in L]: string | number }

/** The options of a metric. */
export interface MetricOptions<L extends string> {
  /** One sentence that says what the metric counts or measures, and in which unit. */
  readonly help: string
  /** The names of the labels. Never use names or uids of objects, or texts of errors: each combination of values is a series. Default: none. */
  readonly labels?: readonly L[]
  /** The maximum number of series. Further combinations of label values are counted in one series whose labels are `other`. Default: 1,000. */
  readonly maxSeries?: number
}

/** The options of a histogram. */
export interface HistogramOptions<L extends string> extends MetricOptions<L> {
  /** The upper bounds of the buckets, in ascending order, without infinity. Default: 0.005 to 10, for durations in seconds. */
  readonly buckets?: readonly number[]
}

/** The labels as a parameter: absent for a metric without labels. */
type LabelParameter<L extends string> = [L] extends [never] ? [] : [labels: LabelValues<L>]

/** One series of a counter. */
export interface CounterSeries {
  /** Adds an amount, which must not be negative. Default: 1. */
  inc(amount?: number): void
  /** The current value. */
  readonly value: number
}

/** A number that only increases: calls, errors, bytes. Its name ends with `_total`. */
export interface Counter<L extends string = never> {
  /** Adds an amount, which must not be negative, to the series with these labels. Default: 1. */
  inc(...args: [...LabelParameter<L>, amount?: number]): void
  /** Returns the series with these labels. Keep it where the same labels are used often: its methods need no lookup. */
  labels(...labels: LabelParameter<L>): CounterSeries
  /** Removes the series with these labels. */
  remove(...labels: LabelParameter<L>): void
}

/** One series of a gauge. */
export interface GaugeSeries {
  /** Replaces the value. */
  set(value: number): void
  /** Adds an amount. Default: 1. */
  inc(amount?: number): void
  /** Subtracts an amount. Default: 1. */
  dec(amount?: number): void
  /** The current value. */
  readonly value: number
}

/** A number that increases and decreases: queue lengths, temperatures, versions in use. */
export interface Gauge<L extends string = never> {
  /** Replaces the value of the series with these labels. */
  set(...args: [...LabelParameter<L>, value: number]): void
  /** Adds an amount to the series with these labels. Default: 1. */
  inc(...args: [...LabelParameter<L>, amount?: number]): void
  /** Subtracts an amount from the series with these labels. Default: 1. */
  dec(...args: [...LabelParameter<L>, amount?: number]): void
  /** Returns the series with these labels. Keep it where the same labels are used often: its methods need no lookup. */
  labels(...labels: LabelParameter<L>): GaugeSeries
  /** Removes the series with these labels, for example when the thing that it measures is gone. */
  remove(...labels: LabelParameter<L>): void
}

/** One series of a histogram. */
export interface HistogramSeries {
  /** Counts one value in its bucket. */
  observe(value: number): void
  /** The number of observed values. */
  readonly count: number
  /** The sum of the observed values. */
  readonly sum: number
}

/** The distribution of values, such as durations in seconds, in buckets. */
export interface Histogram<L extends string = never> {
  /** Counts one value in the series with these labels. */
  observe(...args: [...LabelParameter<L>, value: number]): void
  /** Returns the series with these labels. Keep it where the same labels are used often: its methods need no lookup. */
  labels(...labels: LabelParameter<L>): HistogramSeries
  /** Removes the series with these labels. */
  remove(...labels: LabelParameter<L>): void
}

/**
 * The `metrics` argument of handlers, and `operator.metrics`: counters, gauges and histograms of your own. The metrics endpoint of the operator
 * serves them together with its own series. Each method returns the metric of this name, and creates it on first use: call it in the handler or
 * once at the start, with the same options. The methods of metrics are those of prom-client. Names that begin with `kopf_`, `controller_runtime_` and other prefixes of the framework are refused.
 *
 * @example
 * ```ts
 * kopf.on.create(Order, ({ spec, metrics }) => {
 *   metrics.counter('orders_total', { help: 'Orders by kind.', labels: ['kind'] }).inc({ kind: spec.kind })
 * })
 * ```
 */
export interface Metrics {
  /** Returns the counter of this name. The name ends with `_total`. */
  counter<const L extends string = never>(name: string, options: MetricOptions<L>): Counter<L>
  /** Returns the gauge of this name. */
  gauge<const L extends string = never>(name: string, options: MetricOptions<L>): Gauge<L>
  /** Returns the histogram of this name. */
  histogram<const L extends string = never>(name: string, options: HistogramOptions<L>): Histogram<L>
  /**
   * Returns the value of one series, for tests: of a counter or gauge its value, of a histogram the number of observed values. Undefined if there is no
   * such series. The series of the framework can be read, too.
   *
   * @example
   * ```ts
   * expect(kopf.metrics.read('orders_total', { kind: 'express' })).toBe(1)
   * ```
   */
  read(name: string, labels?: Readonly<Record<string, string | number>>): number | undefined
}
