/** The series about the process and about Node, with the names of prom-client, so that dashboards for it fit. Values are read for each exposition. */
import { readdir, readFile } from 'node:fs/promises'
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { monotonicMs, nextTurn, systemClock } from '../../util/async/clock.ts'
import { packageVersion } from '../../util/process/package-files.ts'
import type { MetricsRegistry } from '../registry.ts'
import type { SeriesContext } from './series-context.ts'

/**
 * How often the monitor of the event loop looks. With the 10 ms of prom-client, it would cost an idle operator more than all other series together. The
 * monitor counts this time as a part of each delay, so that it is subtracted.
 */
const lagResolutionMs = 50
const gcBuckets = [0.001, 0.01, 0.1, 1, 2, 5]
const gcKinds: Readonly<Record<number, string>> = { 1: 'minor', 2: 'minor', 4: 'major', 8: 'incremental', 16: 'weakcb' }

/** Returns a function that stops the measurements. */
export function startProcessSeries({ registry, collect }: SeriesContext): () => void {
  addVersions(registry)
  const stopLag = addEventLoopLag(registry, collect)
  const stopGc = addGc(registry)
  addMemory(registry, collect)
  addCpu(registry, collect)
  if (process.platform === 'linux') addLinux(registry, collect)
  return () => {
    stopLag()
    stopGc()
  }
}

type Collect = SeriesContext['collect']

function addVersions(registry: MetricsRegistry): void {
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.')
  registry
    .gauge('nodejs_version_info', { help: 'Node.js version info.', labels: ['version', 'major', 'minor', 'patch'] })
    .set({ version: process.version, major, minor, patch }, 1)
  registry
    .gauge('kopf_build_info', { help: 'The version of the framework. The value is 1.', labels: ['version'] })
    .set({ version: packageVersion() }, 1)
  const startedMs = systemClock.now() - process.uptime() * 1000
  registry
    .gauge('process_start_time_seconds', { help: 'Start time of the process since unix epoch in seconds.' })
    .set(Math.round(startedMs / 1000))
}

function addEventLoopLag(registry: MetricsRegistry, collect: Collect): () => void {
  const gauge = (name: string, help: string) => registry.gauge(`nodejs_eventloop_lag_${name}`, { help })
  const lag = gauge('seconds', 'Lag of event loop in seconds.')
  const [min, max] = [
    gauge('min_seconds', 'The minimum recorded event loop delay.'),
    gauge('max_seconds', 'The maximum recorded event loop delay.'),
  ]
  const mean = gauge('mean_seconds', 'The mean of the recorded event loop delays.')
  const deviation = gauge('stddev_seconds', 'The standard deviation of the recorded event loop delays.')
  const percentiles = ([50, 90, 99] as const).map(
    (percent) =>
      [
        percent,
        gauge(`p${percent}_seconds`, `The ${percent}th percentile of the recorded event loop delays.`),
      ] as const,
  )
  const delays = monitorEventLoopDelay({ resolution: lagResolutionMs })
  delays.enable()
  // Without a recorded delay, the histogram has no mean.
  const seconds = (nanoseconds: number) => (Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0)
  const delay = (nanoseconds: number) => Math.max(0, seconds(nanoseconds) - lagResolutionMs / 1000)
  collect(async () => {
    const beganMs = monotonicMs()
    await nextTurn()
    lag.set((monotonicMs() - beganMs) / 1000)
    const isEmpty = delays.max === 0
    min.set(isEmpty ? 0 : delay(delays.min))
    max.set(delay(delays.max))
    mean.set(delay(delays.mean))
    deviation.set(seconds(delays.stddev))
    for (const [percent, metric] of percentiles) metric.set(delay(delays.percentile(percent)))
    delays.reset()
  })
  return () => delays.disable()
}

/** The types of Node lack the details of these entries. */
interface GcEntry {
  readonly duration: number
  readonly detail?: { readonly kind?: number }
}

function addGc(registry: MetricsRegistry): () => void {
  const histogram = registry.histogram('nodejs_gc_duration_seconds', {
    help: 'Garbage collection duration by kind, one of major, minor, incremental or weakcb.',
    labels: ['kind'],
    buckets: gcBuckets,
  })
  const observe = ({ duration, detail }: GcEntry) =>
    histogram.observe({ kind: gcKinds[detail?.kind ?? 0] ?? 'other' }, duration / 1000)
  for (const kind of ['major', 'minor', 'incremental', 'weakcb']) histogram.labels({ kind })
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) observe(entry as GcEntry)
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => observer.disconnect()
}

function addMemory(registry: MetricsRegistry, collect: Collect): void {
  const rss = registry.gauge('process_resident_memory_bytes', { help: 'Resident memory size in bytes.' })
  const total = registry.gauge('nodejs_heap_size_total_bytes', { help: 'Process heap size from Node.js in bytes.' })
  const used = registry.gauge('nodejs_heap_size_used_bytes', { help: 'Process heap size used from Node.js in bytes.' })
  const external = registry.gauge('nodejs_external_memory_bytes', { help: 'Node.js external memory size in bytes.' })
  collect(() => {
    const memory = process.memoryUsage()
    rss.set(memory.rss)
    total.set(memory.heapTotal)
    used.set(memory.heapUsed)
    external.set(memory.external)
  })
}

function addCpu(registry: MetricsRegistry, collect: Collect): void {
  const user = registry.counter('process_cpu_user_seconds_total', { help: 'Total user CPU time spent in seconds.' })
  const system = registry.counter('process_cpu_system_seconds_total', {
    help: 'Total system CPU time spent in seconds.',
  })
  const both = registry.counter('process_cpu_seconds_total', {
    help: 'Total user and system CPU time spent in seconds.',
  })
  collect(() => {
    const used = process.cpuUsage()
    // Another run of the operator may have counted up to a moment ago.
    const userSeconds = Math.max(0, used.user / 1e6 - user.labels().value)
    const systemSeconds = Math.max(0, used.system / 1e6 - system.labels().value)
    user.inc(userSeconds)
    system.inc(systemSeconds)
    both.inc(userSeconds + systemSeconds)
  })
}

function addLinux(registry: MetricsRegistry, collect: Collect): void {
  const open = registry.gauge('process_open_fds', { help: 'Number of open file descriptors.' })
  const max = registry.gauge('process_max_fds', { help: 'Maximum number of open file descriptors.' })
  const virtual = registry.gauge('process_virtual_memory_bytes', { help: 'Virtual memory size in bytes.' })
  const heap = registry.gauge('process_heap_bytes', { help: 'Process heap size in bytes.' })
  collect(async () => {
    const [files, limits, status] = await Promise.all([
      readdir('/proc/self/fd'),
      readFile('/proc/self/limits', 'utf8'),
      readFile('/proc/self/status', 'utf8'),
    ])
    // Listing the folder has opened it.
    open.set(files.length - 1)
    max.set(Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN))
    virtual.set(kilobytes(status, 'VmSize'))
    heap.set(kilobytes(status, 'VmData'))
  })
}

function kilobytes(status: string, field: string): number {
  const found = status.split('\n').find((line) => line.startsWith(`${field}:`))
  return Number.parseInt(found?.slice(field.length + 1) ?? '0', 10) * 1024
}
