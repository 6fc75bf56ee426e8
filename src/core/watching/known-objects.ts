/**
 * Which objects are known to be there, so that those which vanish unseen can be told from a new list. One per scope;
 * filled by mirror.ts. Keeps of each object no more than who it was, as this is there for every object that lives.
 */
import type { ObjectMeta } from '../../kube/objects.ts'

export class KnownObjects {
  /** By namespace and name: at any time at most one object has them. */
  readonly #metas = new Map<string, ObjectMeta>()

  /** While a list is being read: what was known before and has not come up in it. */
  #unseen = new Set<string>()

  get size(): number {
    return this.#metas.size
  }

  /** The object of this name, whatever its uid. */
  get(meta: ObjectMeta): ObjectMeta | undefined {
    return this.#metas.get(keyOf(meta))
  }

  put(meta: ObjectMeta): void {
    const key = keyOf(meta)
    this.#metas.set(key, identify(meta))
    if (this.#unseen.size > 0) this.#unseen.delete(key)
  }

  remove(meta: ObjectMeta): void {
    const key = keyOf(meta)
    this.#metas.delete(key)
    this.#unseen.delete(key)
  }

  /** From here on, what is put has been seen. A list that breaks off is begun again. */
  beginList(): void {
    this.#unseen = new Set(this.#metas.keys())
  }

  /** The list is complete: what it did not have is gone, from here too. */
  takeMissing(): ObjectMeta[] {
    const missing = [...this.#unseen].map((key) => this.#metas.get(key)!)
    for (const key of this.#unseen) this.#metas.delete(key)
    this.#unseen = new Set()
    return missing
  }
}

function keyOf({ namespace, name }: ObjectMeta): string {
  return namespace === undefined ? name! : `${namespace}/${name}`
}

/** Nothing of it keeps the rest of the object in memory: whoever needs more of an object than this has it. */
function identify({ name, namespace, uid, resourceVersion }: ObjectMeta): ObjectMeta {
  const identity: ObjectMeta = {}
  if (name !== undefined) identity.name = name
  if (namespace !== undefined) identity.namespace = namespace
  if (uid !== undefined) identity.uid = uid
  if (resourceVersion !== undefined) identity.resourceVersion = resourceVersion
  return identity
}
