/**
 * The newest known states of the children of one kind, from the watch stream (child-source.ts) and from responses to the operator's own writes
 * (children/requests.ts). Never replaces a state with an older one, so that a reconciler sees its own writes.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { LruMap } from '../../util/lru-map.ts'
import { isOlder } from '../../watching/resource-version.ts'
import { reconcilerLabel } from '../children/labels.ts'
import type { Normalised } from '../drift/drift.ts'

/** The number of deleted children whose late events are recognised. Late events arrive within minutes; fewer children are deleted in that time. */
const maxTombstones = 1000

/** Stands for a version later than all others: every further event about the object is outdated. */
const deletedVersion = 'deleted'

/** The owner of a child, and the reconciler that created it. */
export interface OwnerKeyOfChild {
  /** The uid of the controller. */
  readonly owner: string
  /** The value of the label `kopf.dev/reconciler`. */
  readonly label: string
  /**
   * In the key of a child, the namespace of the child; in the key of an owner, that of the owner. Undefined for cluster-scoped objects. A namespaced
   * owner has children only in its namespace: Kubernetes forbids owner references across namespaces but does not check them, so a tenant can write
   * the uid of an owner in another namespace.
   */
  readonly namespace: string | undefined
}

/** Whether an object in the namespace `owner` (undefined: cluster-scoped) can have a child in the namespace `child`. */
export function canOwn(owner: string | undefined, child: string | undefined): boolean {
  return owner === undefined || owner === child
}

export class ChildCache {
  readonly #children = new Map<string, KubeObject>()
  /** The uids of the children, by the uid of their owner. */
  readonly #byOwner = new Map<string, Set<string>>()
  /** The uids of the children, by namespace and name. */
  readonly #byName = new Map<string, string>()
  /** Tombstones by uid: the version at which the child was deleted or left the label selector. */
  readonly #gone = new LruMap<string, string>(maxTombstones)
  /** Differences that the server itself made to an applied child, by uid. */
  readonly #normalised = new Map<string, Normalised>()

  /** The children of an owner, sorted by namespace and name. */
  of(key: OwnerKeyOfChild): KubeObject[] {
    const uids = this.#byOwner.get(key.owner) ?? []
    return findChildren(
      Array.from(uids, (uid) => this.#children.get(uid)!),
      key,
    )
  }

  /** The child with this name, of any owner. */
  named(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#children.get(this.#byName.get(`${namespace ?? ''}/${name}`) ?? '')
  }

  normalisedOf({ metadata: { uid = '' } }: KubeObject): Normalised | undefined {
    return this.#normalised.get(uid)
  }

  setNormalised({ metadata: { uid = '' } }: KubeObject, normalised: Normalised): void {
    const { dropped, values } = normalised
    if (dropped.size === 0 && values === undefined) this.#normalised.delete(uid)
    else this.#normalised.set(uid, normalised)
  }

  versionOf(uid: string): string | undefined {
    return this.#children.get(uid)?.metadata.resourceVersion
  }

  /** Stores a state. Returns the owners before and after; none if the state is not newer. */
  put(object: KubeObject, { isForced = false }: { readonly isForced?: boolean } = {}): readonly OwnerKeyOfChild[] {
    const { uid = '', resourceVersion } = object.metadata
    const before = this.#children.get(uid)
    const known = before?.metadata.resourceVersion ?? this.#gone.get(uid)
    const isOld = known === deletedVersion || resourceVersion === known || isOlder(resourceVersion, known)
    if (isOld && !isForced) return []
    this.#unlink(before)
    this.#children.set(uid, object)
    this.#byName.set(nameOf(object), uid)
    const key = ownerOfChild(object)
    if (key !== undefined) {
      const siblings = this.#byOwner.get(key.owner) ?? new Set()
      this.#byOwner.set(key.owner, siblings.add(uid))
    }
    return affected(before, object)
  }

  /** Removes a child that was deleted (`isDeleted`) or left the label selector; in the latter case a newer known state stays. Returns its owner. */
  remove(object: KubeObject, { isDeleted = false }: { readonly isDeleted?: boolean } = {}): readonly OwnerKeyOfChild[] {
    const { uid = '', resourceVersion } = object.metadata
    const before = this.#children.get(uid)
    if (!isDeleted && isOlder(resourceVersion, before?.metadata.resourceVersion)) return []
    if (isDeleted) this.#gone.set(uid, deletedVersion)
    else if (resourceVersion !== undefined) this.#gone.set(uid, resourceVersion)
    if (before !== undefined) this.#drop(before)
    return affected(before, undefined)
  }

  /** Drops children without a tombstone, e.g. of a namespace that is not watched any more. */
  forget(isAmong: (object: KubeObject) => boolean): void {
    for (const child of [...this.#children.values()]) {
      if (isAmong(child)) this.#drop(child)
    }
  }

  #drop(child: KubeObject): void {
    const { uid = '' } = child.metadata
    this.#unlink(child)
    this.#children.delete(uid)
    this.#normalised.delete(uid)
    // Another child may have the name by now.
    if (this.#byName.get(nameOf(child)) === uid) this.#byName.delete(nameOf(child))
  }

  #unlink(object: KubeObject | undefined): void {
    const key = object && ownerOfChild(object)
    if (key === undefined) return
    const siblings = this.#byOwner.get(key.owner)
    siblings?.delete(object?.metadata.uid ?? '')
    if (siblings?.size === 0) this.#byOwner.delete(key.owner)
  }
}

/** The children of an owner among the objects, sorted by namespace and name. */
export function findChildren(objects: readonly KubeObject[], key: OwnerKeyOfChild): KubeObject[] {
  const isOwn = (object: KubeObject) => {
    const found = ownerOfChild(object)
    return found?.owner === key.owner && found.label === key.label && canOwn(key.namespace, found.namespace)
  }
  return objects.filter(isOwn).sort(byName)
}

function labelOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[reconcilerLabel]
}

function ownerOfChild(object: KubeObject): OwnerKeyOfChild | undefined {
  const controller = object.metadata.ownerReferences?.find((one) => one.controller === true)
  const label = labelOf(object)
  if (controller === undefined || label === undefined) return undefined
  return { owner: controller.uid, label, namespace: object.metadata.namespace }
}

function affected(before: KubeObject | undefined, after: KubeObject | undefined): readonly OwnerKeyOfChild[] {
  return [before, after].flatMap((object) => (object && ownerOfChild(object)) ?? [])
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

function byName(a: KubeObject, b: KubeObject): number {
  return nameOf(a) < nameOf(b) ? -1 : 1
}
