/**
 * What one stream has shown so far: the version to go on from and the objects that are there. Takes in lists and events
 * as they come, and hands on what follows from them. Filled by reflect.ts; knows nothing of requests, time or errors.
 */
import { formatGroupVersion, type KubeObject, type ObjectMeta } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import type { ReflectedEvent } from './events.ts'
import type { KnownObjects } from './known-objects.ts'
import { isOlder, laterVersion } from './versions.ts'

export class Mirror {
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
