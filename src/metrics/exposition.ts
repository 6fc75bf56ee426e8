/**
 * Writes metrics as text: Prometheus 0.0.4 and OpenMetrics 1.0. A family is one metric with all of its samples, from our registry or from that of
 * another library. The order of families and samples is always the same. Pure.
 */
import type { AnyMetric } from './instruments.ts'
import type { Exemplar } from './metric.ts'
import type { ExpositionFormat } from './negotiation.ts'

export type FamilyType =
  | 'counter'
  | 'gauge'
  | 'histogram'
  | 'summary'
  | 'unknown'
  | 'info'
  | 'stateset'
  | 'gaugehistogram'

export interface Family {
  /** The name in OpenMetrics: that of a counter is without `_total`. */
  readonly name: string
  /** The name in the text format. Other libraries may have counters without `_total` there. */
  readonly textName: string
  readonly type: FamilyType
  /** Not escaped. */
  readonly help: string
  readonly samples: readonly MetricSample[]
}

export interface MetricSample {
  /** What follows the name of the family: `_bucket`, `_total` for counters, or nothing. */
  readonly suffix: string
  /** Escaped, without braces: `a="b",c="d"`. */
  readonly labels: string
  /** The upper bound of a bucket. Undefined if it is already among the labels. */
  readonly bound?: number
  readonly value: number
  readonly atMs?: number | undefined
  /** An exemplar as it is written, without `#`. */
  readonly exemplar?: string | undefined
}

/** The text form of the types that only OpenMetrics has. */
const textTypes: Readonly<Record<FamilyType, string>> = {
  counter: 'counter',
  gauge: 'gauge',
  histogram: 'histogram',
  summary: 'summary',
  unknown: 'untyped',
  info: 'gauge',
  stateset: 'gauge',
  gaugehistogram: 'untyped',
}

/** The families in the order of their names. A family without samples is left out. */
export function renderFamilies(families: readonly Family[], format: ExpositionFormat): string {
  const sorted = families
    .filter(({ samples }) => samples.length > 0)
    .sort((a, b) => (a.textName < b.textName ? -1 : a.textName > b.textName ? 1 : 0))
  const lines: string[] = []
  for (const family of sorted) {
    if (format === 'text') addText(lines, family)
    else addOpenMetrics(lines, family)
  }
  if (format === 'openmetrics') lines.push('# EOF')
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

function addText(lines: string[], { name, textName, type, help, samples }: Family): void {
  // The names of the other types are those of their samples, so that each sample belongs to its family.
  const hasSuffixes = type === 'counter' || type === 'info'
  const family = type === 'info' ? `${name}_info` : textName
  lines.push(`# HELP ${family} ${escapeHelp(help)}`, `# TYPE ${family} ${textTypes[type]}`)
  for (const sample of samples) {
    // The text format has no times of creation.
    if (sample.suffix === '_created') continue
    const sampleName = hasSuffixes ? family : `${textName}${sample.suffix}`
    const labels = withBound(sample, formatNumber)
    const at = sample.atMs === undefined ? '' : ` ${sample.atMs}`
    lines.push(`${sampleName}${labels} ${formatNumber(sample.value)}${at}`)
  }
}

function addOpenMetrics(lines: string[], { name, type, help, samples }: Family): void {
  lines.push(`# TYPE ${name} ${type}`, `# HELP ${name} ${escapeLabel(help)}`)
  for (const sample of samples) {
    const labels = withBound(sample, formatBound)
    const at = sample.atMs === undefined ? '' : ` ${sample.atMs / 1000}`
    const exemplar = sample.exemplar === undefined ? '' : ` # ${sample.exemplar}`
    lines.push(`${name}${sample.suffix}${labels} ${formatNumber(sample.value)}${at}${exemplar}`)
  }
}

function withBound({ labels, bound }: MetricSample, format: (bound: number) => string): string {
  if (bound === undefined) return labels === '' ? '' : `{${labels}}`
  return `{${labels}${labels === '' ? '' : ','}le="${format(bound)}"}`
}

function formatNumber(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

/** OpenMetrics writes the bounds of buckets as floating-point numbers: `1.0`. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) && Math.abs(bound) < 1e21 ? `${bound}.0` : formatNumber(bound)
}

function escapeHelp(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replace(/"/g, '\\"')
}

/** The label values of other libraries are written as they are; ours are escaped here. */
function formatLabels(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escapeLabel(values[index]!)}"`).join(',')
}

/** The family of one of our metrics. */
export function familyOf(metric: AnyMetric): Family {
  const { name, type, help } = metric
  const openName = type === 'counter' ? name.slice(0, -'_total'.length) : name
  return { name: openName, textName: name, type, help, samples: samplesOf(metric) }
}

function samplesOf(metric: AnyMetric): MetricSample[] {
  const { labelNames } = metric
  if (metric.type === 'gauge') {
    return metric.sorted().map(({ values, value }) => ({ suffix: '', labels: formatLabels(labelNames, values), value }))
  }
  if (metric.type === 'counter') {
    return metric.sorted().map(({ values, value, exemplar }) => ({
      suffix: '_total',
      labels: formatLabels(labelNames, values),
      value,
      exemplar: exemplar && formatExemplar(exemplar),
    }))
  }
  return metric.sorted().flatMap((series) => {
    const labels = formatLabels(labelNames, series.values)
    return [
      ...bucketsOf(metric.buckets, series, labels),
      { suffix: '_sum', labels, value: series.sum },
      { suffix: '_count', labels, value: series.count },
    ]
  })
}

function bucketsOf(
  buckets: readonly number[],
  { counts, exemplars }: { readonly counts: Float64Array; readonly exemplars: readonly Exemplar[] | undefined },
  labels: string,
): MetricSample[] {
  let count = 0
  return [...buckets, Infinity].map((bound, index) => {
    count += counts[index]!
    const exemplar = exemplars?.[index]
    return { suffix: '_bucket', labels, bound, value: count, exemplar: exemplar && formatExemplar(exemplar) }
  })
}

function formatExemplar({ traceId, spanId, value, atMs }: Exemplar): string {
  const labels = formatLabels(['trace_id', 'span_id'], [traceId, spanId])
  return `{${labels}} ${formatNumber(value)} ${atMs / 1000}`
}
