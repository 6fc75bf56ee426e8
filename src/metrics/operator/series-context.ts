/** What the series of the operator need from the run, and maps in which they keep the handles of series. Created by operator-metrics.ts. */
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

/** The value of a key, which is added if it is missing. */
export function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = create()
  map.set(key, value)
  return value
}

/** The map of a key, which is added if it is missing. */
export function getOrAddMap<K, L, V>(map: Map<K, Map<L, V>>, key: K): Map<L, V> {
  const known = map.get(key)
  if (known !== undefined) return known
  const added = new Map<L, V>()
  map.set(key, added)
  return added
}
