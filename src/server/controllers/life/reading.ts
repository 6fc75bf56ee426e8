/** What controllers see of the store: objects as they are now, read once for each state, and whom they belong to. */
import type { KubeObject, OwnerReference } from '../../../kube/objects.ts'
import type { Parts } from '../../call.ts'
import { labelSelectorFromObject } from '../../selectors.ts'
import { notFound } from '../../status.ts'
import { type Change, keyOf, parseStored, type Stored } from '../../storage/stored.ts'

const parsed = new WeakMap<Stored, KubeObject>()

/** Shared by all who look at this state: nobody may change it. */
export function read<T extends KubeObject>(stored: Stored): T {
  const known = parsed.get(stored)
  if (known !== undefined) return known as T
  const object = parseStored(stored)
  parsed.set(stored, object)
  return object as T
}

export function find<T extends KubeObject>(
  parts: Parts,
  collection: string,
  namespace: string,
  name: string,
): T | undefined {
  return findByKey(parts, collection, keyOf(namespace, name))
}

export function findByKey<T extends KubeObject>({ store }: Parts, collection: string, key: string): T | undefined {
  const stored = store.collection(collection).get(key)
  return stored && read<T>(stored)
}

/** For what was there a moment ago: where it has gone meanwhile, whoever works on it ends, and finds nothing the next time. */
export function getByKey<T extends KubeObject>(parts: Parts, collection: string, key: string): T {
  const found = findByKey<T>(parts, collection, key)
  if (found !== undefined) return found
  const [group = '', plural = group] = collection.split('/')
  throw notFound({ group: plural === group ? '' : group, plural }, key.slice(key.indexOf('/') + 1))
}

/** In one namespace, or in all for ''. */
export function list<T extends KubeObject>({ store }: Parts, collection: string, namespace: string): T[] {
  return store
    .collection(collection)
    .list(namespace)
    .map((stored) => read<T>(stored))
}

/** What is there already, then every change: whoever starts late misses nothing. */
export function follow({ store }: Parts, collection: string, hear: (change: Change) => void): void {
  for (const current of store.collection(collection).list('')) {
    hear({ type: 'ADDED', version: current.version, current, previous: undefined })
  }
  store.subscribe(collection, hear)
}

export function keyOfObject({ metadata: { namespace = '', name = '' } }: KubeObject): string {
  return keyOf(namespace, name)
}

export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller)
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid
}

/** The reference by which an owner controls what it has made. */
export function controllerReference({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name = '', uid = '' } = metadata
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** What controllers of one kind own: `apps/replicasets`, by references of the kind `ReplicaSet`. */
export interface OwnerKind {
  readonly collection: string
  readonly kind: string
}

/**
 * Calls with the keys of those whom a change of a dependent concerns: who controls it, who did before, and where nobody does,
 * whose selector would have it.
 */
export function tellOwners(
  parts: Parts,
  { collection, kind }: OwnerKind,
  change: Change,
  tell: (key: string) => void,
): void {
  const { current, previous } = change
  for (const stored of previous === undefined ? [current] : [previous, current]) {
    const owner = stored.owners && controllerOf(read(stored))
    if (owner?.kind === kind) tell(keyOf(stored.namespace, owner.name))
    if (owner !== undefined || change.type === 'DELETED') continue
    for (const candidate of parts.store.collection(collection).list(stored.namespace)) {
      if (selects(read(candidate), stored.labels ?? {})) tell(candidate.key)
    }
  }
}

function selects(owner: KubeObject, labels: Readonly<Record<string, string>>): boolean {
  const { selector } = (owner['spec'] ?? {}) as { selector?: unknown }
  const selects = labelSelectorFromObject(selector)
  return !selects.isEmpty && selects.matches(labels)
}
