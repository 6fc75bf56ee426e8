/** Reads objects from the store, parsed once per revision, and resolves their owners. */
import type { KubeObject, OwnerReference } from '../../../kube/objects.ts'
import type { ServerContext } from '../../call.ts'
import { labelSelectorFromObject } from '../../selectors.ts'
import { notFound } from '../../status.ts'
import { keyOf, parseStored, type StoreChange, type Stored } from '../../storage/stored.ts'

const parsed = new WeakMap<Stored, KubeObject>()

/** Shared by all readers of this revision; must not be modified. */
export function read<T extends KubeObject>(stored: Stored): T {
  const known = parsed.get(stored)
  if (known !== undefined) return known as T
  const object = parseStored(stored)
  parsed.set(stored, object)
  return object as T
}

export function find<T extends KubeObject>(
  parts: ServerContext,
  collection: string,
  namespace: string,
  name: string,
): T | undefined {
  return findByKey(parts, collection, keyOf(namespace, name))
}

export function findByKey<T extends KubeObject>(
  { store }: ServerContext,
  collection: string,
  key: string,
): T | undefined {
  const stored = store.collection(collection).get(key)
  return stored && read<T>(stored)
}

/** Like `findByKey`, but throws a 404 if the object is gone. That ends the current sync; the next one finds nothing to do. */
export function getByKey<T extends KubeObject>(parts: ServerContext, collection: string, key: string): T {
  const found = findByKey<T>(parts, collection, key)
  if (found !== undefined) return found
  const [group = '', plural = group] = collection.split('/')
  throw notFound({ group: plural === group ? '' : group, plural }, key.slice(key.indexOf('/') + 1))
}

/** Objects of one namespace, or of all namespaces for ''. */
export function list<T extends KubeObject>({ store }: ServerContext, collection: string, namespace: string): T[] {
  return store
    .collection(collection)
    .list(namespace)
    .map((stored) => read<T>(stored))
}

/** Reports existing objects as ADDED and then every change, so that a late subscriber misses nothing. */
export function follow({ store }: ServerContext, collection: string, handle: (change: StoreChange) => void): void {
  for (const current of store.collection(collection).list('')) {
    handle({ type: 'ADDED', version: current.version, current, previous: undefined })
  }
  store.subscribe(collection, handle)
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

/** The owner reference with `controller: true`. */
export function controllerReference({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name = '', uid = '' } = metadata
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** A kind of owner: its collection, such as `apps/replicasets`, and the kind in owner references. */
export interface OwnerKind {
  readonly collection: string
  readonly kind: string
}

/**
 * Calls `enqueue` with the keys of the owners affected by a change of a dependent: its current and previous controller and, for a
 * dependent without a controller, every owner whose selector matches it.
 */
export function enqueueOwners(
  parts: ServerContext,
  { collection, kind }: OwnerKind,
  change: StoreChange,
  enqueue: (key: string) => void,
): void {
  const { current, previous } = change
  for (const stored of previous === undefined ? [current] : [previous, current]) {
    const owner = stored.owners && controllerOf(read(stored))
    if (owner?.kind === kind) enqueue(keyOf(stored.namespace, owner.name))
    if (owner !== undefined || change.type === 'DELETED') continue
    for (const candidate of parts.store.collection(collection).list(stored.namespace)) {
      if (selects(read(candidate), stored.labels ?? {})) enqueue(candidate.key)
    }
  }
}

function selects(owner: KubeObject, labels: Readonly<Record<string, string>>): boolean {
  const { selector } = (owner['spec'] ?? {}) as { selector?: unknown }
  const selects = labelSelectorFromObject(selector)
  return !selects.isEmpty && selects.matches(labels)
}
