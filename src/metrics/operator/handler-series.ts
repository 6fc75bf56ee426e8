/** The series about calls of handlers, daemons and timers. */

import type { Counter, CounterSeries, Histogram, HistogramSeries } from '../../handlers/args/metrics.ts'
import type { ObservedHandler, ObservedObject, Observer } from '../../observer.ts'
import { resourceLabel } from '../resource-label.ts'
import { handlerBuckets, latenessBuckets } from './buckets.ts'
import { getOrAdd, getOrAddMap, type SeriesContext } from './series-context.ts'

const outcomes = ['succeeded', 'retrying', 'failed', 'cancelled'] as const
/** With namespaces, each handler may have series for 200 of them. */
const maxNamespacedSeries = 5000

export function createHandlerSeries({ registry, handlers, namespaces }: SeriesContext): Observer {
  const labels = namespaces === undefined ? (['resource', 'handler', 'type'] as const) : withNamespace
  const limit = namespaces === undefined ? {} : { maxSeries: maxNamespacedSeries }
  const calls = registry.counter('kopf_handler_calls_total', {
    help: 'Calls of handlers, by outcome: succeeded, retrying (a failed attempt that is repeated), failed (permanently) or cancelled.',
    labels: [...labels, 'outcome'],
    ...limit,
  }) as Counter<string>
  const durations = registry.histogram('kopf_handler_duration_seconds', {
    help: 'Durations of calls of handlers.',
    labels: [...labels],
    buckets: handlerBuckets,
    ...limit,
  }) as Histogram<string>
  const lateness = registry.histogram('kopf_timer_lateness_seconds', {
    help: 'How late timers are called.',
    labels: ['resource', 'handler'],
    buckets: latenessBuckets,
  })
  const daemons = registry.gauge('kopf_daemons', {
    help: 'Daemons and timers that run, one per object and handler.',
    labels: ['resource', 'handler', 'type'],
  })
  const labelsOf = (handler: ObservedHandler, object: ObservedObject | undefined) => ({
    resource: object === undefined ? '' : resourceLabel(object.resource),
    handler: handlers.of(handler),
    type: handler.type,
    ...(namespaces && { namespace: namespaces.of(object?.namespace) }),
  })
  /** The series of each handler without namespaces, so that a call needs no lookup of labels: by resource, type and label of the handler. */
  const kept = new Map<string, Map<string, Map<string, CallSeries>>>()
  const seriesOf = (handler: ObservedHandler, object: ObservedObject | undefined): CallSeries => {
    if (namespaces !== undefined) return createCallSeries(labelsOf(handler, object))
    const byType = getOrAddMap(kept, object === undefined ? '' : resourceLabel(object.resource))
    const byHandler = getOrAddMap(byType, handler.type)
    return getOrAdd(byHandler, handlers.of(handler), () => createCallSeries(labelsOf(handler, object)))
  }
  const createCallSeries = (known: Readonly<Record<string, string>>): CallSeries => ({
    durations: durations.labels(known),
    calls: { succeeded: undefined, retrying: undefined, failed: undefined, cancelled: undefined },
    known,
  })
  return {
    resourceServed({ resource, handlers: served }) {
      for (const handler of served) {
        const known = { resource: resourceLabel(resource), handler: handlers.of(handler), type: handler.type }
        if (namespaces === undefined) {
          for (const outcome of outcomes) calls.labels({ ...known, outcome })
          durations.labels(known)
        }
        const { resource: ofResource, handler: id } = known
        if (handler.type === 'timer') lateness.labels({ resource: ofResource, handler: id })
        if (handler.type === 'timer' || handler.type === 'daemon') daemons.labels(known)
      }
    },
    handlerFinished({ handler, object, outcome, durationMs }) {
      const series = seriesOf(handler, object)
      series.calls[outcome] ??= calls.labels({ ...series.known, outcome })
      series.calls[outcome].inc()
      series.durations.observe(durationMs / 1000)
    },
    daemonStarted: ({ object, handler }) => daemons.labels(daemonLabels(object, handler)).inc(),
    daemonStopped: ({ object, handler }) => daemons.labels(daemonLabels(object, handler)).dec(),
    timerFired({ object, handler, latenessMs }) {
      const { resource, handler: id } = daemonLabels(object, handler)
      lateness.labels({ resource, handler: id }).observe(latenessMs / 1000)
    },
  }

  function daemonLabels({ resource }: ObservedObject, handler: ObservedHandler) {
    return { resource: resourceLabel(resource), handler: handlers.of(handler), type: handler.type }
  }
}

interface CallSeries {
  readonly known: Readonly<Record<string, string>>
  readonly durations: HistogramSeries
  readonly calls: Record<(typeof outcomes)[number], CounterSeries | undefined>
}

const withNamespace = ['resource', 'handler', 'type', 'namespace'] as const
