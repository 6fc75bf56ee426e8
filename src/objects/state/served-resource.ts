/** A resource that the operator serves, and its watched objects. Created and removed by cluster/orchestrator.ts; read by all code that handles objects. */
import type { Handler } from '../../handlers/handler.ts'
import type { ResourceHandlers } from '../../handlers/registry.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import type { LruMap } from '../../util/lru-map.ts'
import type { WatchSelectors } from '../../watching/label-pushdown.ts'
import type { WatchedObject } from './watched-object.ts'

/** A resource that has handlers, in all served namespaces. */
export interface ServedResource {
  /** The latest result of discovery; group, version, plural, kind and scope never change. Written by cluster/orchestrator.ts. */
  resource: Resource
  readonly handlers: ResourceHandlers
  /** Selectors of the list and watch requests. */
  readonly selectors: WatchSelectors
  /** Whether `settings.watching` narrows the selectors beyond the filters of the handlers. */
  readonly isNarrowedBySettings: boolean
  /** Whether some timers have `idle`. */
  readonly hasIdleTimers: boolean
  /** Whether all handlers are indexing functions: then only the identity of objects is kept in memory. */
  readonly isOnlyIndexed: boolean
  /** By uid. */
  readonly objects: WatchedObjects
  /** The most recent objects that left the selectors, by uid: the version at which the operator found that. */
  readonly filteredOut: LruMap<string, string>
  /** Whether the schema drops conditions: then the operator does not write them any more. Written by `stopConditions`. */
  dropsConditions: boolean
  /** Status fields that the schema of a built-in kind drops, as `status.field`: the operator does not write them any more. */
  readonly droppedFields: Set<string>
  /** Why the resource is not served any more: the cluster does not serve it (`gone`), or it has no handlers (`unwanted`). Written by cluster/orchestrator.ts. */
  end: 'gone' | 'unwanted' | undefined
}

/** Called when the server has dropped a written condition. */
export function stopConditions(served: ServedResource): void {
  served.dropsConditions = true
}

export function allHandlers({ index, event, change, background, reconcile }: ResourceHandlers): readonly Handler[] {
  return [...index, ...event, ...change, ...background, ...reconcile]
}

export function hasOnlyIndexHandlers(handlers: ResourceHandlers): boolean {
  return allHandlers(handlers).length === handlers.index.length
}

/** Objects by uid; with `areNamed` also by name, for the map functions of `watches`. */
export class WatchedObjects extends Map<string, WatchedObject> {
  readonly #names: Map<string, WatchedObject> | undefined

  constructor({ areNamed }: { readonly areNamed: boolean }) {
    super()
    this.#names = areNamed ? new Map() : undefined
  }

  named(namespace: string | undefined, name: string): WatchedObject | undefined {
    return this.#names?.get(`${namespace ?? ''}/${name}`)
  }

  override set(key: string, object: WatchedObject): this {
    this.#names?.set(nameOf(object), object)
    return super.set(key, object)
  }

  override delete(key: string): boolean {
    const object = this.get(key)
    // A new object may have the name already.
    if (object !== undefined && this.#names?.get(nameOf(object)) === object) this.#names.delete(nameOf(object))
    return super.delete(key)
  }

  override clear(): void {
    this.#names?.clear()
    super.clear()
  }
}

function nameOf({ body: { metadata } }: WatchedObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

/** The key of an object: its uid. Objects of some aggregated APIs have no uid, and are identified by their other metadata. */
export function objectKey({ apiVersion, kind, metadata }: KubeObject): string {
  const { uid, name, namespace, creationTimestamp } = metadata
  return uid ?? [kind, apiVersion, name, namespace, creationTimestamp].map((part) => part ?? '-').join('//')
}

/** All resources that the operator serves now, by name. Written by cluster/orchestrator.ts. */
export class ServedResources extends Map<string, ServedResource> {
  /** All objects of all resources. */
  *objects(): Iterable<WatchedObject> {
    for (const { objects } of this.values()) yield* objects.values()
  }

  /** An object by its uid, in any version of its resource. */
  find({ group, plural }: Pick<Resource, 'group' | 'plural'>, uid: string): WatchedObject | undefined {
    for (const { resource, objects } of this.values()) {
      if (resource.group === group && resource.plural === plural && objects.has(uid)) return objects.get(uid)
    }
    return undefined
  }
}
