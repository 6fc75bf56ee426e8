/**
 * The index of the children of all reconciled objects: the resources of their kinds, the children by owner, and whether they are listed
 * completely. Filled by child-source.ts, read by the reconcilers. Sends no requests.
 */
import type { ReconcileHandler } from '../../handlers/handler.ts'
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource, type ResourceSelector } from '../../kube/resources/selectors.ts'
import type { ServedResources } from '../../objects/state/served-resource.ts'
import { reconcilerLabel, toReconcilerLabel } from '../children/labels.ts'
import type { OwnedKind } from '../children/owned-kinds.ts'
import { ChildCache, type OwnerKeyOfChild } from './child-cache.ts'

/** Whether the children in a scope are listed: not yet, completely, or not at all because of an error. */
export type ListingState = 'pending' | 'listed' | { readonly why: string }

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
  /** By the text of the selector in `owns`. */
  readonly #resources = new Map<string, Resource>()
  /** The labels of all reconcilers of this operator that were asked for so far. */
  readonly #labels = new Set<string>()

  constructor(operator: string | undefined, served: ServedResources) {
    this.#operator = operator
    this.#served = served
  }

  labelOf({ id }: ReconcileHandler): string {
    const label = toReconcilerLabel(this.#operator, id)
    this.#labels.add(label)
    return label
  }

  /**
   * Names the other parent or reconciler of this operator that has a child of that name, as the end of a sentence. Server-side apply reports no conflict
   * between them, since they share one field manager: without this check, each would take the child from the other.
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

  kindsOf({ reconciling }: ReconcileHandler): readonly OwnedKind[] {
    return reconciling.owns.map((selector) => ({ selector, resource: this.#resources.get(String(selector)) }))
  }

  /** Sets the resource that a selector in `owns` selects in this cluster; undefined if the cluster has none. */
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

  setListing(resource: Resource, namespace: string | undefined, listing: ListingState): void {
    this.#knownOf(resource).listings.set(namespace, listing)
  }

  /** Called when the children are not watched any more: in one namespace, or at all. */
  forget(resource: Resource, namespace?: string): void {
    if (namespace === undefined) {
      this.#known.delete(formatResource(resource))
      return
    }
    const { listings, cache } = this.#knownOf(resource)
    listings.delete(namespace)
    cache.forget(({ metadata }) => metadata.namespace === namespace)
  }

  /** Whether the list of existing children is incomplete: a reconciler that ran now would try to create existing children. */
  isPending(handler: ReconcileHandler, { metadata: { namespace } }: KubeObject): boolean {
    return this.kindsOf(handler).some(({ resource }) => {
      if (resource === undefined) return false
      const { listings } = this.#knownOf(resource)
      const relevant =
        namespace === undefined ? [...listings.values()] : [listings.get(undefined) ?? listings.get(namespace)]
      return relevant.includes('pending')
    })
  }

  /** Why existing children of the kind are not listed, as the end of a sentence; undefined if they are. */
  whyUnlisted({ selector, resource }: OwnedKind, namespace: string | undefined): string | undefined {
    if (resource === undefined) return `waits for its kind: the cluster does not serve "${selector}"`
    const { listings } = this.#knownOf(resource)
    const listing = listings.get(undefined) ?? listings.get(namespace)
    if (listing === undefined) return `is in the namespace "${namespace}", which this operator does not serve`
    return typeof listing === 'object' ? `waits until objects of its kind can be listed: ${listing.why}` : undefined
  }

  #knownOf(resource: Resource): IndexedKind {
    const name = formatResource(resource)
    const known = this.#known.get(name) ?? { resource, cache: new ChildCache(), listings: new Map() }
    this.#known.set(name, known)
    return known
  }
}
