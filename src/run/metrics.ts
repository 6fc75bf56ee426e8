/**
 * Starts the series of the operator and the mirror to OpenTelemetry for a run; run.ts starts the endpoint. Without an address and without a provider of meters,
 * nothing listens to the events of the run. Called by run.ts after the startup handlers.
 */
import type { Resource } from '../kube/resources/resources.ts'
import type { Context } from '../objects/context.ts'
import type { ServedResource } from '../objects/state/served-resource.ts'
import { currentSpan, registeredApi, type SpanIds } from '../util/tracing/open-telemetry.ts'
import type { Base, OperatorDefinition } from './bootstrap.ts'

export interface RunningMetrics {
  /** Called when the parts that handle objects exist, before the first stream. */
  attach(context: Pick<Context, 'served' | 'leadership'>): void
  /** Ends the measurements. Called when the endpoint is closed. */
  stop(): void
}

export interface StartMetricsOptions {
  readonly base: Base
  readonly definition: OperatorDefinition
}

/** Resolves with undefined if the metrics are neither served nor mirrored. The code that writes the series is loaded only if they are. */
export async function startMetrics({ base, definition }: StartMetricsOptions): Promise<RunningMetrics | undefined> {
  const { settings, name, metrics, registry: handlers } = definition
  const { registry } = metrics
  const { clock, logger, observers } = base
  registry.logger = logger
  if (settings.metrics.address === null && registeredApi()?.metrics === undefined) return undefined
  const [{ mirrorToOpenTelemetry }, { ForeignMetrics }, { startOperatorMetrics }] = await Promise.all([
    import('../metrics/opentelemetry.ts'),
    import('../metrics/foreign-registry.ts'),
    import('../metrics/operator/operator-metrics.ts'),
  ])
  const stopMirror = mirrorToOpenTelemetry(registry, { logger })
  if (settings.metrics.address === null && stopMirror === undefined) return undefined
  let context: Pick<Context, 'served' | 'leadership'> | undefined
  registry.traceSource = sampledSpan
  registry.foreign = new ForeignMetrics({ registry: () => settings.metrics.registry, clock, logger })
  const series = startOperatorMetrics({
    registry,
    clock,
    settings,
    handlers,
    name,
    listen: (listener) => observers.add(listener),
    objects: () => Array.from(context?.served.values() ?? [], countObjects),
    isCandidate: () => context?.leadership.isCandidate ?? false,
  })
  return {
    attach(attached) {
      context = attached
    },
    stop() {
      stopMirror?.()
      series.stop()
    },
  }
}

/** An exemplar refers only to a trace that is recorded. */
function sampledSpan(): SpanIds | undefined {
  const span = currentSpan()
  return span?.isSampled ? span : undefined
}

function countObjects({ resource, objects }: ServedResource): { readonly resource: Resource; readonly count: number } {
  return { resource, count: objects.size }
}
