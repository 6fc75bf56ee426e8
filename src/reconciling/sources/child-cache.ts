/**
 * The children of one kind, each once, as they were last seen: by a stream that brings ours only, or in the answer to our own
 * write. Never goes back to an older state, so that nobody acts on what he has changed himself. Fed by reconciling/sources/owned-and-watched.ts
 * and sync.ts.
 */

import type { KubeObject } from '../../kube/objects.ts'
import { LruMap } from '../../util/lru-map.ts'
import { isOlder } from '../../watching/resource-version.ts'
import { reconcilerLabel } from '../children/labels.ts'
import type { Normalised } from '../drift/drift.ts'

/** What comes late comes within minutes: so many children do not go in that time. */
const maxTombstones = 1000

/** Stands for a version that is later than all: nothing of that object is to come any more. */
const never = 'never'

/** Whose child it is, and by which reconciler. */
export interface OwnerKeyOfChild {
  /** The uid of the controller. */
  readonly owner: string
  readonly label: string
  /**
   * The namespace of the child; of an owner that looks for its children, the namespace of the owner. An owner in a namespace has
   * children only there: Kubernetes does not allow owner references across namespaces, but stores them unchecked, so that a tenant
   * can write the uid of an owner in another namespace. Undefined for what is cluster-scoped.
   */
  readonly namespace: string | undefined
}

/** Whether an object in `owner` (undefined: cluster-scoped) can have a child in `child`. */
export function canOwn(owner: string | undefined, child: string | undefined): boolean {
  return owner === undefined || owner === child
}

export class ChildCache {
  readonly #children = new Map<string, KubeObject>()
  /** The uids of the children, by that of their owner. */
  readonly #byOwner = new Map<string, Set<string>>()
  /** The uid of the one that has a name, by namespace and name. */
  readonly #byName = new Map<string, string>()
  /** Those that are gone, or out of listing since that version. */
  readonly #gone = new LruMap<string, string>(maxTombstones)
  /** How the server keeps what was applied, by the uid of the child. */
  readonly #normalised = new Map<string, Normalised>()

  /** Those of an owner, by their names. */
  of({ owner, label, namespace }: OwnerKeyOfChild): KubeObject[] {
    const uids = this.#byOwner.get(owner) ?? []
    const children = Array.from(uids, (uid) => this.#children.get(uid)!)
    const isOwn = (child: KubeObject) => labelOf(child) === label && canOwn(namespace, child.metadata.namespace)
    return children.filter(isOwn).sort(byName)
  }

  /** Whosever child it is. */
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

  /** Answers with those whom this concerns, before and after; with none where it is no news. */
  put(object: KubeObject, { isForced = false }: { readonly isForced?: boolean } = {}): readonly OwnerKeyOfChild[] {
    const { uid = '', resourceVersion } = object.metadata
    const before = this.#children.get(uid)
    const known = before?.metadata.resourceVersion ?? this.#gone.get(uid)
    const isOld = known === never || resourceVersion === known || isOlder(resourceVersion, known)
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

  /** It is gone for ever, or out of listing; what was seen of it later than that stays. */
  remove(object: KubeObject, { isDeleted = false }: { readonly isDeleted?: boolean } = {}): readonly OwnerKeyOfChild[] {
    const { uid = '', resourceVersion } = object.metadata
    const before = this.#children.get(uid)
    if (!isDeleted && isOlder(resourceVersion, before?.metadata.resourceVersion)) return []
    if (isDeleted) this.#gone.set(uid, never)
    else if (resourceVersion !== undefined) this.#gone.set(uid, resourceVersion)
    if (before !== undefined) this.#drop(before)
    return affected(before, undefined)
  }

  /** What was seen there is not known any more. */
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
    // Another one may have the name by now.
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
