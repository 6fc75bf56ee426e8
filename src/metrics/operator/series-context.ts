/** What the series of the operator need from the run. Created by operator-metrics.ts. */
import type { MetricsRegistry } from '../registry.ts'
import type { HandlerLabels, NamespaceLabels } from './handler-labels.ts'

export interface SeriesContext {
  readonly registry: MetricsRegistry
  /** The time of the monotonic clock. */
  readonly nowMs: () => number
  readonly handlers: HandlerLabels
  /** Undefined if the series have no label for namespaces. */
  readonly namespaces: NamespaceLabels | undefined
  /** Adds a collector that is removed at the end of the run. */
  readonly collect: (collector: () => void | Promise<void>) => void
}
