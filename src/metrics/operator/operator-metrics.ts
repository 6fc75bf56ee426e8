/**
 * The series of the operator itself: listens to the events of a run, and reads the rest when metrics are asked for. Started by run/run.ts only if metrics are
 * served or mirrored, so that a run without them costs nothing. The series of each subject are in a file of their own.
 */
import type { Registry } from '../../handlers/registry.ts'
import type { Observer } from '../../observer.ts'
import type { Settings } from '../../settings/settings.ts'
import { type Clock, monotonicNow } from '../../util/async/clock.ts'
import { ObjectStates } from '../object-states.ts'
import type { MetricsRegistry } from '../registry.ts'
import { HandlerLabels, NamespaceLabels } from './handler-labels.ts'
import { createHandlerSeries } from './handler-series.ts'
import { createHandledHistogram, createObjectSeries, type ObjectFacts } from './object-series.ts'
import { startProcessSeries } from './process-series.ts'
import { createRequestSeries } from './request-series.ts'
import { createReviewSeries } from './review-series.ts'
import type { SeriesContext } from './series-context.ts'
import { createWatchSeries } from './watch-series.ts'

export interface OperatorMetricsOptions {
  readonly registry: MetricsRegistry
  readonly clock: Clock
  readonly settings: Settings
  readonly handlers: Pick<Registry, 'handlers' | 'webhookHandlers'>
  /** The name of the operator, which is the default name of the Lease. */
  readonly name: string | undefined
  /** Adds a listener to the events of the run. */
  readonly listen: (listener: Observer) => void
  readonly objects: ObjectFacts['objects']
  readonly isCandidate: () => boolean
}

export interface OperatorMetrics {
  /** The states of the objects of the run. */
  readonly states: ObjectStates
  /** Ends the measurements. The series keep their last values. */
  stop(): void
}

/** Called after the startup handlers, which may change the settings, and before the first stream. */
export function startOperatorMetrics(options: OperatorMetricsOptions): OperatorMetrics {
  const { registry, clock, settings, handlers, listen } = options
  const nowMs = () => monotonicNow(clock)
  const stops: Array<() => void> = []
  const context: SeriesContext = {
    registry,
    nowMs,
    handlers: new HandlerLabels(handlers.handlers),
    namespaces: settings.metrics.namespaces ? new NamespaceLabels() : undefined,
    collect: (collector) => stops.push(registry.onCollect(collector)),
  }
  const handled = createHandledHistogram(context)
  const states = new ObjectStates({
    nowMs,
    onHandled: (object, { elapsedMs, hasCalled }) => {
      if (hasCalled) handled.observe(object, elapsedMs)
    },
  })
  const facts: ObjectFacts = {
    objects: options.objects,
    isCandidate: options.isCandidate,
    maxWorkers: () => settings.queueing.workerLimit ?? Infinity,
  }
  const webhooks = handlers.webhookHandlers.map(({ id, type }) => ({ id, type }))
  // The states come first: the series read them.
  listen(states.listener)
  listen({ resourceServed: ({ resource }) => handled.serve(resource) })
  listen(createObjectSeries(context, states, facts))
  listen(createHandlerSeries(context))
  listen(createRequestSeries(context))
  listen(createWatchSeries(context))
  listen(createReviewSeries(context, webhooks))
  listen(createLeaderSeries(context, options))
  stops.push(startProcessSeries(context))
  return {
    states,
    stop: () => {
      for (const stop of stops) stop()
    },
  }
}

function createLeaderSeries({ registry }: SeriesContext, { settings, name }: OperatorMetricsOptions): Observer {
  const gauge = registry.gauge('leader_election_master_status', {
    help: 'Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.',
    labels: ['name'],
  })
  if (!settings.election.enabled) return {}
  const series = gauge.labels({ name: settings.election.name ?? name ?? '' })
  series.set(0)
  return { leadershipChanged: ({ state }) => series.set(state === 'leading' ? 1 : 0) }
}
