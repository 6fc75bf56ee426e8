/**
 * One metric with its series: looks up the series of label values, and limits their number. Created by registry.ts. The three types of metrics are in
 * counter.ts, gauge.ts and histogram.ts; exposition.ts writes them.
 */
import { KopfError } from '../errors.ts'
import { toJsonLine } from '../util/log/error-text.ts'

export type MetricType = 'counter' | 'gauge' | 'histogram'

/** Label values by label name, as the types of metrics get them. */
export type AnyLabels = Readonly<Record<string, string | number>>

/** The trace in which a value is recorded, for exemplars. */
export interface CurrentTrace {
  readonly traceId: string
  readonly spanId: string
}

/** What all metrics of a registry share. */
export interface MetricContext {
  /** Returns the current trace. Undefined without tracing: then values are recorded without exemplars. */
  traceSource: (() => CurrentTrace | undefined) | undefined
  /** The current time in milliseconds since 1970, for exemplars. */
  readonly now: () => number
  /** Called once per metric, when a combination of label values is beyond its limit. */
  readonly onOverflow: (metric: string, maxSeries: number) => void
  /** Called for each value of a histogram, for OpenTelemetry. Undefined if values are not mirrored. */
  onObserved: ((metric: string, value: number, labels: AnyLabels) => void) | undefined
}

export interface Exemplar extends CurrentTrace {
  readonly value: number
  readonly atMs: number
}

export interface MetricDefinition {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  readonly maxSeries: number
  readonly context: MetricContext
}

/** The label value of all combinations beyond the limit of a metric. */
export const overflowValue = 'other'

/** Longer label values are cut: a value may come from an object, and is kept for the life of the process. */
export const maxLabelLength = 200

/** The series by the value of the first label, then of the second, and so on. */
type SeriesTree<S> = Map<string, SeriesTree<S> | S>

export interface LabelledSeries {
  /** In the order of the label names. */
  readonly values: readonly string[]
}

export abstract class Metric<S extends LabelledSeries> {
  abstract readonly type: MetricType
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  protected readonly context: MetricContext
  readonly #maxSeries: number
  readonly #tree: SeriesTree<S> = new Map()
  readonly #all = new Set<S>()
  /** The series of a metric without labels, so that its methods need no lookup. */
  #only: S | undefined
  #overflow: S | undefined

  constructor({ name, help, labelNames, maxSeries, context }: MetricDefinition) {
    this.name = name
    this.help = help
    this.labelNames = labelNames
    this.#maxSeries = maxSeries
    this.context = context
  }

  protected abstract createSeries(values: readonly string[]): S

  /** The series of these label values. Creates it, unless the metric has its maximum number of series. */
  series(labels: AnyLabels | undefined): S {
    const { labelNames } = this
    if (labelNames.length === 0) {
      if (labels !== undefined) this.#check(labels)
      this.#only ??= this.#add([])
      return this.#only
    }
    if (labels === undefined) throw this.#labelError('labels are missing')
    let place: SeriesTree<S> = this.#tree
    let given = 0
    for (const _ in labels) given += 1
    if (given !== labelNames.length) this.#check(labels)
    const last = labelNames.length - 1
    for (let index = 0; index < last; index += 1) {
      const next = place.get(this.#valueOf(labels, labelNames[index]!))
      if (next === undefined) return this.#create(labels)
      place = next as SeriesTree<S>
    }
    return (place.get(this.#valueOf(labels, labelNames[last]!)) as S | undefined) ?? this.#create(labels)
  }

  /** The series of these label values, if it exists. */
  find(labels: AnyLabels | undefined): S | undefined {
    const wanted = this.labelNames.map((name) => toLabelValue(labels?.[name] ?? ''))
    let place: SeriesTree<S> | S | undefined = this.labelNames.length === 0 ? this.#only : this.#tree
    for (const value of wanted) place = (place as SeriesTree<S> | undefined)?.get(value)
    return place as S | undefined
  }

  delete(labels: AnyLabels | undefined): void {
    const found = this.find(labels)
    if (found !== undefined) this.#remove(found)
  }

  /** Removes all series for which the predicate holds. */
  deleteWhere(isRemoved: (values: readonly string[]) => boolean): void {
    for (const series of this.#all) if (isRemoved(series.values)) this.#remove(series)
  }

  /** All series, in the order of their label values. */
  sorted(): readonly S[] {
    return [...this.#all].sort((a, b) => compareValues(a.values, b.values))
  }

  get size(): number {
    return this.#all.size
  }

  labelsOf({ values }: LabelledSeries): Record<string, string> {
    return Object.fromEntries(this.labelNames.map((name, index) => [name, values[index]!]))
  }

  /** Whether values are recorded with the trace in which they occur. */
  get hasTraces(): boolean {
    return this.context.traceSource !== undefined
  }

  exemplarOf(value: number): Exemplar | undefined {
    const trace = this.context.traceSource?.()
    return trace && { traceId: trace.traceId, spanId: trace.spanId, value, atMs: this.context.now() }
  }

  #create(labels: AnyLabels): S {
    if (this.#all.size >= this.#maxSeries) return this.#overflowSeries()
    return this.#add(this.labelNames.map((name) => this.#valueOf(labels, name)))
  }

  /** The series of the overflow is one more than the limit, so that it always exists. */
  #overflowSeries(): S {
    if (this.#overflow === undefined) {
      this.context.onOverflow(this.name, this.#maxSeries)
      const labels = Object.fromEntries(this.labelNames.map((name) => [name, overflowValue]))
      this.#overflow = this.find(labels) ?? this.#add(this.labelNames.map(() => overflowValue))
    }
    return this.#overflow
  }

  #add(values: readonly string[]): S {
    const series = this.createSeries(values)
    this.#all.add(series)
    let place = this.#tree
    for (const [index, value] of values.entries()) {
      if (index === values.length - 1) {
        place.set(value, series)
        break
      }
      const next = (place.get(value) as SeriesTree<S> | undefined) ?? new Map()
      place.set(value, next)
      place = next
    }
    return series
  }

  #remove(series: S): void {
    this.#all.delete(series)
    if (this.#only === series) this.#only = undefined
    if (this.#overflow === series) this.#overflow = undefined
    const places = [this.#tree]
    for (const value of series.values.slice(0, -1)) places.push(places.at(-1)!.get(value) as SeriesTree<S>)
    // Empty branches are removed: values that come and go must not stay in memory.
    for (let index = series.values.length - 1; index >= 0; index -= 1) {
      places[index]!.delete(series.values[index]!)
      if (places[index]!.size > 0) break
    }
  }

  #valueOf(labels: AnyLabels, name: string): string {
    const value = labels[name]
    if (typeof value !== 'string' && typeof value !== 'number') throw this.#labelError(`the label "${name}" is missing`)
    return toLabelValue(value)
  }

  #check(labels: AnyLabels): void {
    const unknown = Object.keys(labels).find((name) => !this.labelNames.includes(name))
    if (unknown !== undefined)
      throw this.#labelError(`there is no label ${toJsonLine(unknown.slice(0, maxLabelLength))}`)
    const missing = this.labelNames.find((name) => !Object.hasOwn(labels, name))
    if (missing !== undefined) throw this.#labelError(`the label "${missing}" is missing`)
  }

  #labelError(problem: string): KopfError {
    const names = this.labelNames.length === 0 ? 'none' : this.labelNames.map((name) => `"${name}"`).join(', ')
    return new KopfError('KOPF_METRICS', `Cannot use the metric "${this.name}": ${problem}; its labels are ${names}`)
  }

  protected valueError(value: unknown, expected: string): KopfError {
    return new KopfError('KOPF_METRICS', `Cannot record ${toJsonLine(value)} in the metric "${this.name}": ${expected}`)
  }
}

const unpairedSurrogates = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

function toLabelValue(value: string | number): string {
  const text = typeof value === 'string' ? value : String(value)
  const cut = text.length > maxLabelLength ? text.slice(0, maxLabelLength) : text
  // Unpaired surrogates cannot be encoded: two values that differ in them would be one series of the answer, written twice.
  return cut.replace(unpairedSurrogates, '\ufffd')
}

function compareValues(a: readonly string[], b: readonly string[]): number {
  for (const [index, value] of a.entries()) {
    if (value !== b[index]) return value < b[index]! ? -1 : 1
  }
  return 0
}
