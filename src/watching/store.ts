/**
 * What one stream has shown so far: the version to go on from and the objects that are there. Takes in lists and events
 * as they come, and hands on what follows from them. Filled by reflector.ts; knows nothing of requests, time or errors.
 */
import { formatGroupVersion, type KubeObject, type ObjectMeta } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { isOlder, laterVersion } from './resource-version.ts'
import type { ReflectedEvent } from './watch-events.ts'

export class ObjectStore {
  /** Where the next watch goes on; undefined until a list is complete, and again when a new one is needed. */
  #version: string | undefined

  /** The highest version seen, also while there is no list: a new one must not be older. */
  #highest: string | undefined

  /** Whether objects come because they are there, and not because they have changed. */
  #isListing = false

  readonly #resource: Resource
  readonly #known: KnownObjects
  readonly #deliver: (event: ReflectedEvent) => void

  constructor(resource: Resource, known: KnownObjects, deliver: (event: ReflectedEvent) => void) {
    this.#resource = resource
    this.#known = known
    this.#deliver = deliver
  }

  get version(): string | undefined {
    return this.#version
  }

  get highest(): string | undefined {
    return this.#highest
  }

  get isListing(): boolean {
    return this.#isListing
  }

  /** The next thing to come must be a list. */
  expire(): void {
    this.#version = undefined
  }

  beginList(): void {
    this.#version = undefined
    this.#isListing = true
    this.#known.beginList()
  }

  /** From the version of the list on, the watch tells what happens. */
  endList(version: string): void {
    const rewound = isOlder(version, this.#highest)
    for (const meta of this.#known.takeMissing()) this.#deliverMissed(meta)
    this.#isListing = false
    this.#version = version
    this.#highest = version
    this.#deliver({ type: 'listed', version, rewound })
  }

  /** A list may be older than what is known, after a rewinding; a change may not: that one comes late, or twice. */
  apply(event: 'ADDED' | 'MODIFIED', object: KubeObject): void {
    const { metadata } = object
    const known = this.#known.get(metadata)
    const isSame = known !== undefined && known.uid === metadata.uid
    if (isSame && !this.#isListing && !isNews(metadata, known)) return
    // The name has passed on to another object, and nobody has told of the end of the first.
    if (known !== undefined && !isSame) this.#deliverMissed(known)
    this.#known.put(metadata)
    this.#advance(metadata.resourceVersion)
    this.#deliver({ type: 'applied', event: this.#isListing ? null : event, object })
  }

  /** Of what is not known, the end has been told before. */
  remove(object: KubeObject): void {
    const { metadata } = object
    const known = this.#known.get(metadata)
    this.#advance(metadata.resourceVersion)
    if (known === undefined || known.uid !== metadata.uid || isOlder(metadata.resourceVersion, known.resourceVersion))
      return
    this.#known.remove(metadata)
    this.#deliver({ type: 'deleted', object, missed: false })
  }

  /** Not while listing: then a bookmark ends the list. */
  advance(version: string): void {
    this.#advance(version)
  }

  #advance(version: string | undefined): void {
    // The objects of a list have their own versions, each lower than that of the list.
    if (version === undefined || version === '' || this.#isListing) return
    this.#version = laterVersion(this.#version, version)
    this.#highest = laterVersion(this.#highest, version)
  }

  #deliverMissed(metadata: ObjectMeta): void {
    const { group, version, kind } = this.#resource
    const object = { apiVersion: formatGroupVersion(group, version), kind, metadata }
    this.#deliver({ type: 'deleted', object, missed: true })
  }
}

function isNews({ resourceVersion }: ObjectMeta, known: ObjectMeta): boolean {
  if (resourceVersion === undefined || resourceVersion === '') return true
  return resourceVersion !== known.resourceVersion && !isOlder(resourceVersion, known.resourceVersion)
}

/**
 * Which objects are known to be there, so that those which vanish unseen can be told from a new list. One per scope;
 * filled by store.ts. Keeps of each object no more than who it was, as this is there for every object that lives.
 */

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
    return this.#metas.get(storeKey(meta))
  }

  put(meta: ObjectMeta): void {
    const key = storeKey(meta)
    this.#metas.set(key, identify(meta))
    if (this.#unseen.size > 0) this.#unseen.delete(key)
  }

  remove(meta: ObjectMeta): void {
    const key = storeKey(meta)
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

function storeKey({ namespace, name }: ObjectMeta): string {
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
