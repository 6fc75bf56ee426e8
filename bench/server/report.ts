/** The result as a Markdown table. */
import { cpus } from 'node:os'
import { median } from '../lib/measure.ts'
import { formatMs, whole } from '../lib/tables.ts'
import type { Listing } from './listing.ts'
import type { Start } from './startup.ts'
import type { Delivery } from './watching.ts'
import type { Rate } from './writing.ts'

export interface Row {
  readonly what: string
  readonly embedded: string
  readonly real: string
  readonly ratio: string
  readonly aim: string
}

export interface Circumstances {
  readonly version: string
  readonly loadBefore: string
  readonly loadAfter: string
  readonly isQuick: boolean
}

export function formatTable(rows: readonly Row[], { version, loadBefore, loadAfter, isQuick }: Circumstances): string {
  const head = [
    `Node ${process.version}, Kubernetes ${version}, ${cpus().length} cores;`,
    `load average ${loadBefore} before, ${loadAfter} after${isQuick ? '; --quick: small counts, rough figures' : ''}.`,
  ]
  const lines = rows.map(
    ({ what, embedded, real, ratio, aim }) => `| ${[what, embedded, real, ratio, aim].join(' | ')} |`,
  )
  return [head.join(' '), '', '| what | embedded | real | ratio | aim |', '|---|---|---|---|---|', ...lines, ''].join(
    '\n',
  )
}

/** The ratio by which the embedded server is better; `better` says whether higher or lower values are better. */
export function times(embedded: number, real: number, better: 'higher' | 'lower'): string {
  const ratio = better === 'higher' ? embedded / real : real / embedded
  return `${ratio.toPrecision(2)}×`.replace(/^(\d+)e\+(\d+)/, (_, digits, power) => String(digits * 10 ** power))
}

export function formatKb(bytes: number): string {
  return `${(bytes / 1024).toFixed(2)} KB`
}

export function formatRate(perSecond: number): string {
  return `${whole(perSecond)}/s`
}

interface Pair<T> {
  readonly embedded: readonly T[]
  readonly real: readonly T[]
}

export function startRow(what: string, { embedded, real }: Pair<Start>, aim: string): Row {
  const of = (starts: readonly Start[]): string => {
    return `${formatMs(tookMs(starts))}; CPU ${formatMs(median(starts.map(({ cpuMs }) => cpuMs)))}`
  }
  return { what, embedded: of(embedded), real: of(real), ratio: times(tookMs(embedded), tookMs(real), 'lower'), aim }
}

function tookMs(starts: readonly Start[]): number {
  return median(starts.map((start) => start.tookMs))
}

export function rateRow(what: string, { embedded, real }: Pair<Rate>, aim = ''): Row {
  const of = (rates: readonly Rate[]): string => {
    const p50 = formatMs(median(rates.map(({ p50Ms }) => p50Ms)))
    const p99 = formatMs(median(rates.map(({ p99Ms }) => p99Ms)))
    const cpu = median(rates.map(({ cpuMsPerOperation }) => cpuMsPerOperation)).toFixed(2)
    return `${formatRate(typical(rates))}; p50 ${p50}, p99 ${p99}; CPU ${cpu} ms`
  }
  const ratio = times(typical(embedded), typical(real), 'higher')
  return { what, embedded: of(embedded), real: of(real), ratio, aim }
}

function typical(rates: readonly Rate[]): number {
  return median(rates.map(({ perSecond }) => perSecond))
}

/** With many watchers, the cost is per event rather than per write. */
export function manyWatchersRow(what: string, { embedded, real }: Pair<Delivery>, aim: string): Row {
  const of = (deliveries: readonly Delivery[]): string => {
    const megabytes = median(deliveries.map(({ megabytesPerSecond }) => megabytesPerSecond))
    const cpu = median(deliveries.map(({ cpuUsPerEvent }) => cpuUsPerEvent)).toFixed(1)
    const growth = whole(median(deliveries.map(({ growthMb }) => growthMb)))
    return `${formatRate(events(deliveries))}, ${whole(megabytes)} MB/s; CPU ${cpu} µs an event; RSS grew by ${growth} MB`
  }
  return { what, embedded: of(embedded), real: of(real), ratio: times(events(embedded), events(real), 'higher'), aim }
}

export function deliveryRow(what: string, { embedded, real }: Pair<Delivery>): Row {
  const of = (deliveries: readonly Delivery[]): string => {
    const writes = formatRate(median(deliveries.map(({ writesPerSecond }) => writesPerSecond)))
    const cpu = median(deliveries.map(({ cpuMsPerWrite }) => cpuMsPerWrite)).toFixed(2)
    return `${formatRate(events(deliveries))} (${writes} writes); CPU ${cpu} ms a write`
  }
  const ratio = times(events(embedded), events(real), 'higher')
  return { what, embedded: of(embedded), real: of(real), ratio, aim: '' }
}

function events(deliveries: readonly Delivery[]): number {
  return median(deliveries.map(({ eventsPerSecond }) => eventsPerSecond))
}

export function listingRow(what: string, { embedded, real }: Pair<Listing>): Row {
  const of = (listings: readonly Listing[]): string => {
    const { seconds, firstByteMs, megabytes, cpuMs } = middle(listings)
    const speed = whole(megabytes / seconds)
    return `${seconds.toFixed(2)} s (first bytes ${formatMs(firstByteMs)}), ${whole(megabytes)} MB, ${speed} MB/s; CPU ${(cpuMs / 1000).toFixed(2)} s`
  }
  const ratio = times(middle(embedded).seconds, middle(real).seconds, 'lower')
  return { what, embedded: of(embedded), real: of(real), ratio, aim: '' }
}

function middle(listings: readonly Listing[]): Listing {
  const sorted = [...listings].sort((one, other) => one.seconds - other.seconds)
  return sorted[sorted.length >> 1]!
}
