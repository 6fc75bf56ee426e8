/**
 * The index of the children of all reconciled objects: the resources of their kinds, the children by owner, and whether they are listed
 * completely. Filled by child-source.ts, read by the reconcilers. Sends no requests.
 */
import type { Handler } from '../../handlers/handler.ts'
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource, type ResourceSelector } from '../../kube/resources/selectors.ts'
import type { ServedResources } from '../../objects/state/served-resource.ts'
import { reconcilerLabel, toReconcilerLabel } from '../children/labels.ts'
import type { OwnedKind } from '../children/owned-kinds.ts'
import { ChildCache, type OwnerKeyOfChild } from './child-cache.ts'

/** Whether the children in a scope are listed: not yet, completely, or not at all because of an error. */
export type ListingState = 'pending' | 'seen' | { readonly why: string }

interface IndexedKind {
  readonly resource: Resource
  readonly cache: ChildCache
  /** By namespace; undefined for the whole cluster. */
  readonly listings: Map<string | undefined, ListingState>
}

export class ChildrenIndex {
  readonly #operator: string | undefined
  readonly #served: ServedResources
  readonly #known = new Map<string, IndexedKind>()
  readonly #resources = new Map<string, Resource>()

  readonly #labels = new Set<string>()

  constructor(operator: string | undefined, served: ServedResources) {
    this.#operator = operator
    this.#served = served
  }

  labelOf({ id }: Handler): string {
    const label = toReconcilerLabel(this.#operator, id)
    this.#labels.add(label)
    return label
  }

  /**
   * Which other parent or reconciler of this operator has made a child of that name, as the end of a sentence. Server-side apply would not report a
   * conflict, since they share one field manager: the last one would take the child from the others.
   */
  competitorOf(resource: Resource, desired: ObjectMeta, { owner, label }: OwnerKeyOfChild): string | undefined {
    const metadata = this.cacheOf(resource).named(desired.namespace, desired.name ?? '')?.metadata
    const controller = metadata?.ownerReferences?.find((one) => one.controller === true)
    if (controller === undefined) return undefined
    if (controller.uid !== owner) {
      if (!this.#isWatched(controller.uid)) return undefined
      return `another object controls it, and there can be only one: ${controller.kind} "${controller.name}"; name the child differently`
    }
    const other = metadata?.labels?.[reconcilerLabel]
    if (other === undefined || other === label || !this.#labels.has(other)) return undefined
    return `another reconciler of the object has made it: "${other}"; let only one of them return it`
  }

  #isWatched(uid: string): boolean {
    return [...this.#served.values()].some(({ objects }) => objects.has(uid))
  }

  kindsOf({ reconciling }: Handler): readonly OwnedKind[] {
    return (reconciling?.owns ?? []).map((selector) => ({ selector, resource: this.#resources.get(String(selector)) }))
  }

  /** Sets the resource that a selector means in this cluster; undefined if the cluster has none. */
  resolve(selector: ResourceSelector, resource: Resource | undefined): void {
    if (resource === undefined) this.#resources.delete(String(selector))
    else this.#resources.set(String(selector), resource)
  }

  cacheOf(resource: Resource): ChildCache {
    return this.#knownOf(resource).cache
  }

  listingOf(resource: Resource, namespace: string | undefined): ListingState | undefined {
    return this.#knownOf(resource).listings.get(namespace)
  }

  note(resource: Resource, namespace: string | undefined, listing: ListingState): void {
    this.#knownOf(resource).listings.set(namespace, listing)
  }

  /** The children are not watched any more: in one namespace, or at all. */
  forget(resource: Resource, namespace?: string): void {
    if (namespace === undefined) {
      this.#known.delete(formatResource(resource))
      return
    }
    const { listings, cache } = this.#knownOf(resource)
    listings.delete(namespace)
    cache.forget(({ metadata }) => metadata.namespace === namespace)
  }

  /** Children are not listed completely yet: to reconcile now would create existing children a second time. */
  isPending(handler: Handler, { metadata: { namespace } }: KubeObject): boolean {
    return this.kindsOf(handler).some(({ resource }) => {
      if (resource === undefined) return false
      const { listings } = this.#knownOf(resource)
      const inReach =
        namespace === undefined ? [...listings.values()] : [listings.get(undefined) ?? listings.get(namespace)]
      return inReach.includes('pending')
    })
  }

  /** Why a child cannot be watched, as the end of a sentence; undefined if it can. */
  whyUnlisted({ selector, resource }: OwnedKind, namespace: string | undefined): string | undefined {
    if (resource === undefined) return `waits for its kind: the cluster does not serve "${selector}"`
    const { listings } = this.#knownOf(resource)
    const listing = listings.get(undefined) ?? listings.get(namespace)
    if (listing === undefined) return `is in the namespace "${namespace}", which this operator does not serve`
    return typeof listing === 'object' ? `waits until those of its kind can be listed: ${listing.why}` : undefined
  }

  #knownOf(resource: Resource): IndexedKind {
    const name = formatResource(resource)
    const known = this.#known.get(name) ?? { resource, cache: new ChildCache(), listings: new Map() }
    this.#known.set(name, known)
    return known
  }
}
