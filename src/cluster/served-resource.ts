/** Creates the state of a served resource from its handlers and the settings. Called by orchestrator.ts. */
import { ABSENT, PRESENT } from '../handlers/filters.ts'
import type { Handler } from '../handlers/handler.ts'
import type { ValuePattern } from '../handlers/options.ts'
import type { Registry } from '../handlers/registry.ts'
import type { Resource } from '../kube/resources/resources.ts'
import {
  allHandlers,
  hasOnlyIndexHandlers,
  type ServedResource,
  WatchedObjects,
} from '../objects/state/served-resource.ts'
import type { Settings } from '../settings/settings.ts'
import { LruMap } from '../util/lru-map.ts'
import { type LabelPattern, sharedSelectors } from '../watching/label-pushdown.ts'

/**
 * The number of filtered-out objects whose versions are remembered to detect late events. Late events arrive within a minute or
 * two.
 */
const maxFilteredOut = 1000

export function createServedResource(registry: Registry, settings: Settings, resource: Resource): ServedResource {
  const handlers = registry.handlersFor(resource)
  const selectors = sharedSelectors(allHandlers(handlers).map(toLabelled), settings.watching, resource)
  const isNarrowedBySettings = Object.keys(sharedSelectors([], settings.watching, resource)).length > 0
  const hasIdleTimers = handlers.background.some(({ background }) => background?.schedule?.idleMs !== undefined)
  const areNamed = handlers.reconcile.some(({ reconciling }) => (reconciling?.watches.length ?? 0) > 0)
  const kept = {
    objects: new WatchedObjects({ areNamed }),
    filteredOut: new LruMap<string, string>(maxFilteredOut),
    dropsConditions: false,
    droppedFields: new Set<string>(),
    end: undefined,
  }
  const traits = { isNarrowedBySettings, hasIdleTimers, isOnlyIndexed: hasOnlyIndexHandlers(handlers) }
  return { resource, handlers, selectors, ...traits, ...kept }
}

function toLabelled({ labels }: Handler) {
  if (labels === undefined) return { labels: undefined }
  return { labels: Object.fromEntries(Object.entries(labels).map(([key, pattern]) => [key, toLabelPattern(pattern)])) }
}

function toLabelPattern(pattern: ValuePattern): LabelPattern {
  if (pattern === PRESENT) return 'present'
  if (pattern === ABSENT) return 'absent'
  return typeof pattern === 'string' ? { equals: pattern } : 'unknown'
}
