/** Which resources of the cluster the handlers are for; and, where there are none, what to say about it. */
import type { Registry } from '../core/handling/registry.ts'
import type { Resource } from '../kube/resources.ts'
import { formatResource, type ResourceSelector, selectResources } from '../kube/selectors.ts'
import type { Logger } from '../util/log.ts'

export interface Resolved {
  /** Those whose objects are to be watched. */
  readonly resources: readonly Resource[]
  /** Nothing in the cluster is meant by these. */
  readonly unresolved: readonly ResourceSelector[]
}

export function resolveResources(registry: Registry, known: readonly Resource[], logger: Logger): Resolved {
  const resources = new Map<string, Resource>()
  const unresolved: ResourceSelector[] = []
  for (const selector of registry.watchedSelectors) {
    const { selected, ambiguous, candidates } = selectResources(selector, known)
    if (ambiguous) {
      const names = candidates.map(formatResource).join(', ')
      logger.warn(`Ambiguous resources will not be served (try specifying API groups): ${selector}: ${names}`)
    } else if (selected.length === 0) {
      unresolved.push(selector)
    }
    for (const resource of selected) resources.set(formatResource(resource), resource)
  }
  // Who is asked about resources does not mind which of several is meant, but cannot be asked about what is not there.
  for (const selector of registry.askedSelectors) {
    if (selectResources(selector, known).candidates.length === 0) unresolved.push(selector)
  }
  return { resources: [...resources.values()].filter((one) => canServe(registry, one, logger)), unresolved }
}

function canServe(registry: Registry, resource: Resource, logger: Logger): boolean {
  const { verbs } = resource
  if (!verbs.includes('list') || !verbs.includes('watch')) {
    logger.warn(`Non-watchable resources will not be served: ${formatResource(resource)}`)
    return false
  }
  if (registry.handlersFor(resource).change.length > 0 && !verbs.includes('patch')) {
    logger.warn(`Non-patchable resources will not be served: ${formatResource(resource)}`)
    return false
  }
  return true
}
