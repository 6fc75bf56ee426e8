/**
 * Resolves the selectors of handlers to resources of the cluster, and describes the problems: unresolved, ambiguous and
 * unsuitable ones. Pure.
 */
import type { Registry } from '../handlers/registry.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource, type ResourceSelector, selectResources } from '../kube/resources/selectors.ts'
import { canHaveCustomResources } from '../kube/resources/well-known.ts'
import type { Settings } from '../settings/settings.ts'

export interface ResolvedResources {
  /** The resources to be watched. */
  readonly resources: readonly Resource[]
  /** Candidates of ambiguous selectors. They are not watched, unless they are already. */
  readonly ambiguousCandidates: readonly Resource[]
  /** Selectors that match no resource of the cluster. */
  readonly unresolved: readonly ResourceSelector[]
  /** Warnings for the log, by a key that identifies the problem. */
  readonly warnings: ReadonlyMap<string, string>
}

export function resolveResources(registry: Registry, known: readonly Resource[]): ResolvedResources {
  const resources = new Map<string, Resource>()
  const ambiguousCandidates: Resource[] = []
  const unresolved: ResourceSelector[] = []
  const warnings = new Map<string, string>()
  const resolve = (selector: ResourceSelector): readonly Resource[] => {
    const { selected, ambiguous, candidates } = selectResources(selector, known)
    if (ambiguous) {
      const names = candidates.map(formatResource).join(', ')
      const message = `Ambiguous resources will not be served (try specifying API groups): ${selector}: ${names}`
      warnings.set(`ambiguous ${selector}: ${names}`, message)
      return candidates
    }
    if (selected.length === 0) unresolved.push(selector)
    return []
  }
  for (const selector of registry.watchedSelectors) {
    ambiguousCandidates.push(...resolve(selector))
    for (const resource of selectResources(selector, known).selected) resources.set(formatResource(resource), resource)
  }
  for (const selector of registry.relatedSelectors) resolve(selector)
  // Webhook handlers may match several resources, but a selector that matches none is reported.
  for (const selector of registry.webhookSelectors) {
    if (selectResources(selector, known).candidates.length === 0) unresolved.push(selector)
  }
  return { resources: [...resources.values()], ambiguousCandidates, unresolved, warnings }
}

/** Returns why a resource with handlers cannot be served; undefined if it can. */
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
 * Whether the CRD is being deleted. Discovery then lists no `create` and no `patch`, but the server still accepts patches. They
 * are needed: objects with finalizers keep the CRD from being deleted.
 */
function isTerminating({ group, verbs }: Resource): boolean {
  return canHaveCustomResources(group) && verbs.includes('deletecollection') && !verbs.includes('create')
}

/** Whether a new, changed or deleted CRD could change the resources of the handlers. */
function matchesCrds(registry: Registry, known: readonly Resource[]): boolean {
  return registry.selectors().some((selector) => {
    if (selector.group !== undefined) return canHaveCustomResources(selector.group)
    // A selector without a group prefers the core group, so CRDs with the same name do not matter.
    return !selector.isSpecific || !selectResources(selector, known).selected.some(({ group }) => group === '')
  })
}

/** Whether CRDs must be watched. An operator with mandatory peering also waits for the CRD of the peering. */
export function watchesCrds(
  registry: Registry,
  known: readonly Resource[],
  { scanning, peering }: Pick<Settings, 'scanning' | 'peering'>,
): boolean {
  return !scanning.disabled && (peering.mandatory || matchesCrds(registry, known))
}

/** Whether a group whose discovery has failed may contain a resource of an unresolved handler. */
export function isNeeded(group: string, registry: Registry, { unresolved }: ResolvedResources): boolean {
  return registry.selectors().some((selector) => {
    if (selector.group !== undefined) return selector.group === group
    return !selector.isSpecific || unresolved.some((one) => String(one) === String(selector))
  })
}
