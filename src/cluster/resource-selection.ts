/** Which resources of the cluster the handlers are for; and, where there are none, what to say about it. Pure. */
import type { Registry } from '../handlers/registry.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource, type ResourceSelector, selectResources } from '../kube/resources/selectors.ts'
import { canHaveCustomResources } from '../kube/resources/well-known.ts'
import type { Settings } from '../settings/settings.ts'

export interface ResolvedResources {
  /** Those whose objects are to be watched. */
  readonly resources: readonly Resource[]
  /** Those of which one was meant, and several were found: none of them is to be watched that is not already. */
  readonly contested: readonly Resource[]
  /** Nothing in the cluster is meant by these. */
  readonly unresolved: readonly ResourceSelector[]
  /** What somebody should know, by what it is about. */
  readonly warnings: ReadonlyMap<string, string>
}

export function resolveResources(registry: Registry, known: readonly Resource[]): ResolvedResources {
  const resources = new Map<string, Resource>()
  const contested: Resource[] = []
  const unresolved: ResourceSelector[] = []
  const warnings = new Map<string, string>()
  for (const selector of registry.watchedSelectors) {
    const { selected, ambiguous, candidates } = selectResources(selector, known)
    if (ambiguous) {
      const names = candidates.map(formatResource).join(', ')
      const words = `Ambiguous resources will not be served (try specifying API groups): ${selector}: ${names}`
      warnings.set(`ambiguous ${selector}: ${names}`, words)
      contested.push(...candidates)
    } else if (selected.length === 0) {
      unresolved.push(selector)
    }
    for (const resource of selected) resources.set(formatResource(resource), resource)
  }
  for (const selector of registry.relatedSelectors) {
    const { selected, ambiguous, candidates } = selectResources(selector, known)
    if (ambiguous) {
      const names = candidates.map(formatResource).join(', ')
      const words = `Ambiguous resources will not be served (try specifying API groups): ${selector}: ${names}`
      warnings.set(`ambiguous ${selector}: ${names}`, words)
    } else if (selected.length === 0) {
      unresolved.push(selector)
    }
  }
  // Who is asked about resources does not mind which of several is meant, but cannot be asked about what is not there.
  for (const selector of registry.webhookSelectors) {
    if (selectResources(selector, known).candidates.length === 0) unresolved.push(selector)
  }
  return { resources: [...resources.values()], contested, unresolved, warnings }
}

/** Why a resource cannot be served although handlers are for it; undefined where it can. */
export function whyUnsuitable(registry: Registry, resource: Resource): string | undefined {
  const { verbs } = resource
  if (!verbs.includes('list') || !verbs.includes('watch')) {
    return `Non-watchable resources will not be served: ${formatResource(resource)}`
  }
  const { change, background } = registry.handlersFor(resource)
  if (change.length + background.length > 0 && !verbs.includes('patch') && !isTerminating(resource)) {
    return `Non-patchable resources will not be served: ${formatResource(resource)}`
  }
  return undefined
}

/**
 * The definition is being deleted: nothing can be made any more, and discovery says the same of changes. But they are let through,
 * and have to be made: objects that wait for a finalizer keep the definition from going.
 */
function isTerminating({ group, verbs }: Resource): boolean {
  return canHaveCustomResources(group) && verbs.includes('deletecollection') && !verbs.includes('create')
}

/** Whether a definition that comes, changes or goes could make a difference to the handlers. */
function matchesCrds(registry: Registry, known: readonly Resource[]): boolean {
  return registry.selectors().some((selector) => {
    if (selector.group !== undefined) return canHaveCustomResources(selector.group)
    // The core group goes first, whatever else has the name.
    return !selector.isSpecific || !selectResources(selector, known).selected.some(({ group }) => group === '')
  })
}

/** Whether definitions are to be followed. Whoever waits for a peering waits for its definition, too. */
export function watchesCrds(
  registry: Registry,
  known: readonly Resource[],
  { scanning, peering }: Pick<Settings, 'scanning' | 'peering'>,
): boolean {
  return !scanning.disabled && (peering.mandatory || matchesCrds(registry, known))
}

/** Whether something in the group could be meant by a handler that has not got what it is for. */
export function isNeeded(group: string, registry: Registry, { unresolved }: ResolvedResources): boolean {
  return registry.selectors().some((selector) => {
    if (selector.group !== undefined) return selector.group === group
    return !selector.isSpecific || unresolved.some((one) => String(one) === String(selector))
  })
}
