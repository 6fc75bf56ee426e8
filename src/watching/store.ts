/**
 * The state of one reflector: the version from which the watch continues, and the identities of the existing objects. Turns lists
 * and watch lines into delivered events: it drops outdated ones and detects missed deletions. Written by reflector.ts; knows no
 * requests, time or errors.
 */
import { formatGroupVersion, type KubeObject, type ObjectMeta } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { isOlder, laterVersion } from './resource-version.ts'
import type { ReflectedEvent } from './watch-events.ts'

export class ObjectStore {
  /** The version after which the next watch continues; undefined until a list is complete, and when a new list is needed. */
  #version: string | undefined

  /** The highest version seen. It is kept while a new list is read, because that must not be older. */
  #highest: string | undefined

  /** Whether the objects come from a list, and not from changes. */
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

  /** Requires a new list as the next step. */
  expire(): void {
    this.#version = undefined
  }

  beginList(): void {
    this.#version = undefined
    this.#isListing = true
    this.#known.beginList()
  }

  /**
   * Completes a list: reports the known objects that it lacks as missed deletions. The watch continues after the version of the
   * list.
   */
  endList(version: string): void {
    const rewound = isOlder(version, this.#highest)
    for (const meta of this.#known.takeMissing()) this.#deliverMissed(meta)
    this.#isListing = false
    this.#version = version
    this.#highest = version
    this.#deliver({ type: 'listed', version, rewound })
  }

  /**
   * Takes an object of a list or a change. A list may be older than the known state, if the storage was restored from a backup. A
   * change that is older than the known state is late or repeated, and is dropped.
   */
  apply(event: 'ADDED' | 'MODIFIED', object: KubeObject): void {
    const { metadata } = object
    const known = this.#known.get(metadata)
    const isSame = known !== undefined && known.uid === metadata.uid
    if (isSame && !this.#isListing && !isNews(metadata, known)) return
    // Another object has this name now, and no deletion of the first one was received.
    if (known !== undefined && !isSame) this.#deliverMissed(known)
    this.#known.put(metadata)
    this.#advance(metadata.resourceVersion)
    this.#deliver({ type: 'applied', event: this.#isListing ? null : event, object })
  }

  /** Takes a deletion. The deletion of an unknown object was already reported and is dropped. */
  remove(object: KubeObject): void {
    const { metadata } = object
    const known = this.#known.get(metadata)
    this.#advance(metadata.resourceVersion)
    if (known === undefined || known.uid !== metadata.uid || isOlder(metadata.resourceVersion, known.resourceVersion))
      return
    this.#known.remove(metadata)
    this.#deliver({ type: 'deleted', object, missed: false })
  }

  /** Takes the version of a bookmark. Not called while listing: then a bookmark completes the list. */
  advance(version: string): void {
    this.#advance(version)
  }

  #advance(version: string | undefined): void {
    // Objects of a list have their own versions, which are lower than the version of the list.
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
 * The identities of all existing objects of one scope, to detect by a new list which objects were deleted unnoticed. It keeps
 * only the identity, because there is one entry for every object.
 */

export class KnownObjects {
  /** By namespace and name: at most one object has them at a time. */
  readonly #metas = new Map<string, ObjectMeta>()

  /** While a list is read: the keys of known objects that have not appeared in it yet. */
  #unseen = new Set<string>()

  get size(): number {
    return this.#metas.size
  }

  /** The object of this name, with any uid. */
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

  /** Starts a list. A list that breaks off is started again. */
  beginList(): void {
    this.#unseen = new Set(this.#metas.keys())
  }

  /** Completes a list: returns and forgets the objects that it did not contain. */
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

/** Copies the identity, so that the rest of the object can be garbage-collected. */
function identify({ name, namespace, uid, resourceVersion }: ObjectMeta): ObjectMeta {
  const identity: ObjectMeta = {}
  if (name !== undefined) identity.name = name
  if (namespace !== undefined) identity.namespace = namespace
  if (uid !== undefined) identity.uid = uid
  if (resourceVersion !== undefined) identity.resourceVersion = resourceVersion
  return identity
}
