/** The rules of Prometheus for the names of metrics and labels, and for buckets. Throws errors that say what to write instead. Pure. */
import { KopfError } from '../errors.ts'
import { toJsonLine } from '../util/log/error-text.ts'
import type { MetricType } from './metric.ts'

/** Colons are left out: Prometheus reserves them for recording rules. */
const metricName = /^[a-zA-Z_][a-zA-Z0-9_]*$/
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/
const maxNameLength = 200
const maxLabels = 20
const maxBuckets = 200

/** The beginnings of names that belong to the framework. */
const reservedPrefixes = [
  'kopf_',
  'controller_runtime_',
  'workqueue_',
  'rest_client_',
  'leader_election_',
  'process_',
  'nodejs_',
] as const

export function checkName(type: MetricType, name: string): void {
  const fail = (why: string) => failWith(type, name, why)
  if (typeof name !== 'string' || !metricName.test(name) || name.length > maxNameLength) {
    fail('a name has letters, digits and underscores, and does not begin with a digit')
  }
  if (type === 'counter' && !name.endsWith('_total')) fail(`the name of a counter ends with "_total": "${name}_total"`)
  if (type !== 'counter' && name.endsWith('_total')) fail('only the names of counters end with "_total"')
}

/** Checks a metric of the user, whose name must not look like one of the framework. */
export function checkOwnName(type: MetricType, name: string): void {
  const prefix = reservedPrefixes.find((one) => String(name).startsWith(one))
  if (prefix === undefined) return
  failWith(
    type,
    name,
    `names that begin with "${prefix}" belong to the framework; begin with the name of your application`,
  )
}

export function checkLabelNames(type: MetricType, name: string, labels: readonly string[]): void {
  const fail = (why: string) => failWith(type, name, why)
  if (!Array.isArray(labels)) fail('"labels" is a list of names, such as [\'kind\']')
  if (labels.length > maxLabels) fail(`it has ${labels.length} labels, more than ${maxLabels}`)
  for (const label of labels) {
    const shown = toJsonLine(label)
    if (typeof label !== 'string' || !labelName.test(label) || label.length > maxNameLength) {
      fail(`the label ${shown} is no name of letters, digits and underscores`)
    }
    if (label.startsWith('__')) fail(`the label ${shown} begins with two underscores, which Prometheus uses itself`)
    if (label === 'le' && type === 'histogram') fail('the label "le" is the one of the buckets')
  }
  if (new Set(labels).size !== labels.length) fail('a label occurs twice')
}

/** The buckets of histograms of durations in seconds. */
export const defaultBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Returns the buckets without infinity, which every histogram has. */
export function checkBuckets(name: string, buckets: readonly number[]): readonly number[] {
  const fail = (why: string) => failWith('histogram', name, why)
  const finite = buckets.at(-1) === Infinity ? buckets.slice(0, -1) : [...buckets]
  if (finite.length === 0) fail('it has no buckets')
  if (finite.length > maxBuckets) fail(`it has ${finite.length} buckets, more than ${maxBuckets}`)
  for (const [index, bucket] of finite.entries()) {
    if (typeof bucket !== 'number' || !Number.isFinite(bucket))
      fail(`the bucket ${toJsonLine(bucket)} is no finite number`)
    if (index > 0 && bucket <= finite[index - 1]!) fail('the buckets do not ascend')
  }
  return finite
}

/** The names of all samples that a metric can have, and its name in OpenMetrics. No two metrics may share one. */
export function sampleNames(type: MetricType, name: string): readonly string[] {
  switch (type) {
    case 'counter':
      return [name, name.slice(0, -'_total'.length)]
    case 'gauge':
      return [name]
    case 'histogram':
      return [name, `${name}_bucket`, `${name}_sum`, `${name}_count`]
  }
}

export function failWith(type: MetricType, name: string, why: string): never {
  throw new KopfError('KOPF_METRICS', `Cannot use ${toJsonLine(name).slice(0, maxNameLength)} as a ${type}: ${why}`)
}
