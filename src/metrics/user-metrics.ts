/** The metrics that handlers and programs of the user create: the argument `metrics` and `operator.metrics`. The names of the framework are refused. */
import type { Counter, Gauge, Histogram, HistogramOptions, MetricOptions, Metrics } from '../handlers/args/metrics.ts'
import type { MetricType } from './metric.ts'
import { checkOwnName } from './names.ts'
import { MetricsRegistry } from './registry.ts'

export class UserMetrics implements Metrics {
  /** The registry, which also has the series of the framework. For the run and the metrics endpoint. */
  readonly registry: MetricsRegistry
  /** Names that were checked: handlers get a metric by its name at each call. Bounded by the number of metrics in the registry. */
  readonly #checked = new Set<string>()

  constructor(registry: MetricsRegistry = new MetricsRegistry()) {
    this.registry = registry
  }

  counter<const L extends string = never>(name: string, options: MetricOptions<L>): Counter<L> {
    return this.#checkedAfter('counter', name, () => this.registry.counter(name, options))
  }

  gauge<const L extends string = never>(name: string, options: MetricOptions<L>): Gauge<L> {
    return this.#checkedAfter('gauge', name, () => this.registry.gauge(name, options))
  }

  histogram<const L extends string = never>(name: string, options: HistogramOptions<L>): Histogram<L> {
    return this.#checkedAfter('histogram', name, () => this.registry.histogram(name, options))
  }

  read(name: string, labels?: Readonly<Record<string, string | number>>): number | undefined {
    return this.registry.read(name, labels)
  }

  #checkedAfter<T>(type: MetricType, name: string, create: () => T): T {
    if (!this.#checked.has(name)) checkOwnName(type, name)
    const metric = create()
    this.#checked.add(name)
    return metric
  }
}
