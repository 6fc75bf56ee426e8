/**
 * What is known of the children of all objects: which resources their kinds are, the children themselves, and whether all that
 * are there have been seen. Fed by running/relations.ts; asked by the hall. Sends nothing.
 */
import type { Handler } from '../../core/handling/handler.ts'
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { formatResource, type ResourceSelector } from '../../kube/selectors.ts'
import { ChildCache, type Parentage } from './child-cache.ts'
import type { OwnedKind } from './kinds.ts'
import { reconcilerLabel, toReconcilerLabel } from './marks.ts'

/** Whether the children in a scope are known: not yet, all of them, or not, for a reason. */
export type Sight = 'pending' | 'seen' | { readonly why: string }

interface Known {
  readonly resource: Resource
  readonly cache: ChildCache
  /** By namespace; undefined for the whole cluster. */
  readonly sights: Map<string | undefined, Sight>
}

export class Kinship {
  readonly #operator: string | undefined
  readonly #known = new Map<string, Known>()
  readonly #resources = new Map<string, Resource>()

  /** Whether an object of that uid is there, and reconciled. */
  isOwner: (uid: string) => boolean = () => false
  /** Told of parents who have lost a child to another one, by our own doing. */
  onMoved: (parentage: Parentage) => void = () => {}
  readonly #labels = new Set<string>()

  constructor(operator: string | undefined) {
    this.#operator = operator
  }

  labelOf({ id }: Handler): string {
    const label = toReconcilerLabel(this.#operator, id)
    this.#labels.add(label)
    return label
  }

  /**
   * Who else has made a child of that name, as the end of a sentence. The server would not tell: they are all under one name as
   * the owners of fields, and the last one would take the child away from the others.
   */
  rivalOf(resource: Resource, wanted: ObjectMeta, { owner, label }: Parentage): string | undefined {
    const metadata = this.cacheOf(resource).named(wanted.namespace, wanted.name ?? '')?.metadata
    const controller = metadata?.ownerReferences?.find((one) => one.controller === true)
    if (controller === undefined) return undefined
    if (controller.uid !== owner) {
      if (!this.isOwner(controller.uid)) return undefined
      return `another object controls it, and there can be only one: ${controller.kind} "${controller.name}"; name the child differently`
    }
    const other = metadata?.labels?.[reconcilerLabel]
    if (other === undefined || other === label || !this.#labels.has(other)) return undefined
    return `another reconciler of the object has made it: "${other}"; let only one of them return it`
  }

  kindsOf({ reconciling }: Handler): readonly OwnedKind[] {
    return (reconciling?.owns ?? []).map((selector) => ({ selector, resource: this.#resources.get(String(selector)) }))
  }

  /** What a selector stands for in this cluster; undefined where there is nothing. */
  resolve(selector: ResourceSelector, resource: Resource | undefined): void {
    if (resource === undefined) this.#resources.delete(String(selector))
    else this.#resources.set(String(selector), resource)
  }

  cacheOf(resource: Resource): ChildCache {
    return this.#knownOf(resource).cache
  }

  sightOf(resource: Resource, namespace: string | undefined): Sight | undefined {
    return this.#knownOf(resource).sights.get(namespace)
  }

  note(resource: Resource, namespace: string | undefined, sight: Sight): void {
    this.#knownOf(resource).sights.set(namespace, sight)
  }

  /** Nobody looks there any more: in one namespace, or at all. */
  forget(resource: Resource, namespace?: string): void {
    if (namespace === undefined) {
      this.#known.delete(formatResource(resource))
      return
    }
    const { sights, cache } = this.#knownOf(resource)
    sights.delete(namespace)
    cache.forget(({ metadata }) => metadata.namespace === namespace)
  }

  /** Something of the children is still to come: to go by what is known would be to make them a second time. */
  isPending(handler: Handler, { metadata: { namespace } }: KubeObject): boolean {
    return this.kindsOf(handler).some(({ resource }) => {
      if (resource === undefined) return false
      const { sights } = this.#knownOf(resource)
      const inReach = namespace === undefined ? [...sights.values()] : [sights.get(undefined) ?? sights.get(namespace)]
      return inReach.includes('pending')
    })
  }

  /** Why nothing can be known of a child, as the end of a sentence; undefined where it can. */
  whyUnseen({ selector, resource }: OwnedKind, namespace: string | undefined): string | undefined {
    if (resource === undefined) return `waits for its kind: the cluster does not serve "${selector}"`
    const { sights } = this.#knownOf(resource)
    const sight = sights.get(undefined) ?? sights.get(namespace)
    if (sight === undefined) return `is in the namespace "${namespace}", which this operator does not serve`
    return typeof sight === 'object' ? `waits until those of its kind can be listed: ${sight.why}` : undefined
  }

  #knownOf(resource: Resource): Known {
    const name = formatResource(resource)
    const known = this.#known.get(name) ?? { resource, cache: new ChildCache(), sights: new Map() }
    this.#known.set(name, known)
    return known
  }
}
