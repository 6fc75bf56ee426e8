/** The series about the processing of objects: those of controller-runtime and of the work queue, and our own. */
import type { Resource } from '../../kube/resources/resources.ts'
import type { ObservedObject, Observer, ProcessingResult } from '../../observer.ts'
import type { ObjectStates, UnhandledState } from '../object-states.ts'
import { resourceLabel } from '../resource-label.ts'
import { handledBuckets, queueBuckets, reconcileBuckets } from './buckets.ts'
import type { SeriesContext } from './series-context.ts'

const results: readonly ProcessingResult[] = ['success', 'error', 'requeue', 'requeue_after']
const purposes = ['handling', 'checkpoint', 'background', 'reconcile'] as const
const unhandledStates: readonly UnhandledState[] = ['failed', 'retrying', 'handling', 'waiting', 'deleting']

/** The priorities of controller-runtime: that of changed objects, and that of objects of the first list. */
const priorities = { now: '0', backlog: '-100' } as const

/** What the series read when they are collected. */
export interface ObjectFacts {
  /** The number of known objects of each served resource. */
  readonly objects: () => Iterable<{ readonly resource: Resource; readonly count: number }>
  /** Whether another replica is the leader: then the objects do not wait for this one. */
  readonly isCandidate: () => boolean
  /** The maximum number of workers. */
  readonly maxWorkers: () => number
}

/** The handles of one resource, so that an event needs no lookup of labels. */
type ResourceSeries = ReturnType<typeof createResourceSeries>

export function createObjectSeries(
  { registry, nowMs, collect }: SeriesContext,
  states: ObjectStates,
  facts: ObjectFacts,
): Observer {
  const metrics = createMetrics(registry)
  const known = new Map<string, ResourceSeries>()
  const seriesOf = (resource: Pick<Resource, 'plural' | 'group'>): ResourceSeries => {
    const label = resourceLabel(resource)
    let series = known.get(label)
    if (series === undefined) {
      series = createResourceSeries(metrics, label)
      known.set(label, series)
    }
    return series
  }
  /** The objects that are being processed, with the start of it: at most one per worker. */
  const running = new Map<ObservedObject, number>()
  collect(() => {
    const counts = new Map<string, number>()
    for (const { resource, count } of facts.objects()) {
      const label = resourceLabel(resource)
      counts.set(label, (counts.get(label) ?? 0) + count)
      seriesOf(resource)
    }
    const isCandidate = facts.isCandidate()
    for (const [label, series] of known) {
      const total = counts.get(label) ?? 0
      setObjects(series, states, { total, isCandidate })
      for (const priority of ['now', 'backlog'] as const) {
        series.depth[priority].set(isCandidate ? 0 : series.waiting[priority])
      }
      series.maxWorkers.set(facts.maxWorkers())
      series.unfinished.set(0)
      series.longest.set(0)
    }
    for (const [{ resource }, startedMs] of running) {
      const seconds = (nowMs() - startedMs) / 1000
      const { unfinished, longest } = seriesOf(resource)
      unfinished.inc(seconds)
      if (seconds > longest.value) longest.set(seconds)
    }
  })
  return {
    resourceServed: ({ resource }) => void seriesOf(resource),
    workQueued({ object, priority, isRetry }) {
      const series = seriesOf(object.resource)
      series.waiting[priority] += 1
      series.adds.inc()
      if (isRetry) series.retries.inc()
    },
    workDropped({ object, priority }) {
      seriesOf(object.resource).waiting[priority] -= 1
    },
    processingStarted({ object, priority, waitedMs }) {
      const series = seriesOf(object.resource)
      series.waiting[priority] -= 1
      series.queueDuration.observe(waitedMs / 1000)
      series.active.inc()
      running.set(object, nowMs())
    },
    processingFinished({ object, durationMs, result, hasFailedPermanently }) {
      const series = seriesOf(object.resource)
      running.delete(object)
      series.active.dec()
      series.workDuration.observe(durationMs / 1000)
      series.reconcileTime.observe(durationMs / 1000)
      series.results[result].inc()
      if (result === 'error') series.errors.inc()
      if (hasFailedPermanently) series.terminalErrors.inc()
    },
    patchWritten: ({ object, purpose, requests }) => seriesOf(object.resource).writes[purpose].inc(requests),
    staleStateDropped: ({ object }) => seriesOf(object.resource).stale.inc(),
    contentionFound: ({ owner }) => seriesOf(owner.resource).contention.inc(),
  }
}

interface HandledHistogram {
  /** Creates the series of a resource. */
  readonly serve: (resource: Resource) => void
  readonly observe: (object: ObservedObject, elapsedMs: number) => void
}

/** Observes the time from a change to its handling. A listener of `ObjectStates` calls it. */
export function createHandledHistogram({ registry }: Pick<SeriesContext, 'registry'>): HandledHistogram {
  const histogram = registry.histogram('kopf_change_to_handled_seconds', {
    help: 'Time from the watch event of a change to the written result of its handling, with all retries.',
    labels: ['resource'],
    buckets: handledBuckets,
  })
  return {
    serve: (resource: Resource) => void histogram.labels({ resource: resourceLabel(resource) }),
    observe: ({ resource }: ObservedObject, elapsedMs: number) =>
      histogram.labels({ resource: resourceLabel(resource) }).observe(elapsedMs / 1000),
  }
}

function setObjects(
  { label, objects }: ResourceSeries,
  states: ObjectStates,
  { total, isCandidate }: { readonly total: number; readonly isCandidate: boolean },
): void {
  const counts = states.countsOfLabel(label)
  let unhandled = 0
  for (const state of unhandledStates) {
    const count = isCandidate ? 0 : counts[state]
    unhandled += count
    objects[state].set(count)
  }
  objects.handled.set(isCandidate ? 0 : Math.max(0, total - unhandled))
}

function createMetrics(registry: SeriesContext['registry']) {
  const controller = ['controller'] as const
  const queue = ['name', 'controller'] as const
  const resource = ['resource'] as const
  return {
    results: registry.counter('controller_runtime_reconcile_total', {
      help: 'Total number of reconciliations per controller. A controller is a resource, and a reconciliation one processing of an object.',
      labels: ['controller', 'result'],
    }),
    errors: registry.counter('controller_runtime_reconcile_errors_total', {
      help: 'Total number of reconciliation errors per controller: handlers that have failed, and unexpected errors.',
      labels: controller,
    }),
    terminalErrors: registry.counter('controller_runtime_terminal_reconcile_errors_total', {
      help: 'Total number of terminal reconciliation errors per controller: handlers that have failed permanently.',
      labels: controller,
    }),
    reconcileTime: registry.histogram('controller_runtime_reconcile_time_seconds', {
      help: 'Length of time per reconciliation per controller.',
      labels: controller,
      buckets: reconcileBuckets,
    }),
    maxWorkers: registry.gauge('controller_runtime_max_concurrent_reconciles', {
      help: 'Maximum number of concurrent reconciles. All controllers of the operator share the workers.',
      labels: controller,
    }),
    active: registry.gauge('controller_runtime_active_workers', {
      help: 'Number of currently used workers per controller.',
      labels: controller,
    }),
    depth: registry.gauge('workqueue_depth', {
      help: 'Current depth of workqueue, by priority: 0 for changed objects, -100 for objects of the first list.',
      labels: ['name', 'controller', 'priority'],
    }),
    adds: registry.counter('workqueue_adds_total', {
      help: 'Total number of adds handled by workqueue.',
      labels: queue,
    }),
    retries: registry.counter('workqueue_retries_total', {
      help: 'Total number of retries handled by workqueue: objects that were queued again without a new state.',
      labels: queue,
    }),
    queueDuration: registry.histogram('workqueue_queue_duration_seconds', {
      help: 'How long in seconds an item stays in workqueue before being requested.',
      labels: queue,
      buckets: queueBuckets,
    }),
    workDuration: registry.histogram('workqueue_work_duration_seconds', {
      help: 'How long in seconds processing an item from workqueue takes.',
      labels: queue,
      buckets: queueBuckets,
    }),
    unfinished: registry.gauge('workqueue_unfinished_work_seconds', {
      help: 'How many seconds of work has been done that is in progress and has not been observed by work_duration.',
      labels: queue,
    }),
    longest: registry.gauge('workqueue_longest_running_processor_seconds', {
      help: 'How many seconds has the longest running processor for workqueue been running.',
      labels: queue,
    }),
    objects: registry.gauge('kopf_objects', {
      help: 'Known objects by state: failed, retrying, handling, waiting, deleting or handled. 0 on a replica that is not the leader.',
      labels: ['resource', 'state'],
    }),
    writes: registry.counter('kopf_writes_total', {
      help: 'Requests that write objects, by purpose: handling, checkpoint, background (daemons and timers) or reconcile.',
      labels: ['resource', 'purpose'],
    }),
    stale: registry.counter('kopf_stale_states_total', {
      help: 'States of objects that were dropped, since they are older than the known ones.',
      labels: resource,
    }),
    contention: registry.counter('kopf_contention_total', {
      help: 'Children whose fields another field manager changes again and again, by the resource of the owner.',
      labels: resource,
    }),
  }
}

function createResourceSeries(metrics: ReturnType<typeof createMetrics>, label: string) {
  const controller = { controller: label }
  const queue = { name: label, controller: label }
  const resource = { resource: label }
  const depth = (priority: keyof typeof priorities) =>
    metrics.depth.labels({ ...queue, priority: priorities[priority] })
  return {
    label,
    results: byKey(results, (result) => metrics.results.labels({ ...controller, result })),
    errors: metrics.errors.labels(controller),
    terminalErrors: metrics.terminalErrors.labels(controller),
    reconcileTime: metrics.reconcileTime.labels(controller),
    maxWorkers: metrics.maxWorkers.labels(controller),
    active: metrics.active.labels(controller),
    /** The objects that wait for a worker, which `depth` shows. */
    waiting: { now: 0, backlog: 0 },
    depth: { now: depth('now'), backlog: depth('backlog') },
    adds: metrics.adds.labels(queue),
    retries: metrics.retries.labels(queue),
    queueDuration: metrics.queueDuration.labels(queue),
    workDuration: metrics.workDuration.labels(queue),
    unfinished: metrics.unfinished.labels(queue),
    longest: metrics.longest.labels(queue),
    objects: byKey([...unhandledStates, 'handled'], (state) => metrics.objects.labels({ ...resource, state })),
    writes: byKey(purposes, (purpose) => metrics.writes.labels({ ...resource, purpose })),
    stale: metrics.stale.labels(resource),
    contention: metrics.contention.labels(resource),
  }
}

function byKey<K extends string, V>(keys: readonly K[], create: (key: K) => V): Readonly<Record<K, V>> {
  return Object.fromEntries(keys.map((key) => [key, create(key)])) as Record<K, V>
}
