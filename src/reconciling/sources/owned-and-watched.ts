/**
 * Watches the kinds in `owns` and `watches` of reconcilers, and triggers the reconcilers when such an object changes. cluster/orchestrator.ts calls
 * `arrange` whenever the served resources or namespaces change.
 */
import type { ReconcileHandler, Watch } from '../../handlers/handler.ts'
import type { Registry } from '../../handlers/registry.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource, type ResourceSelector, selectResources } from '../../kube/resources/selectors.ts'
import { objectLogger } from '../../objects/context.ts'
import { deepFreeze } from '../../util/json/deep-freeze.ts'
import { describeError } from '../../util/log/describe-error.ts'
import { sharedSelectors } from '../../watching/label-pushdown.ts'
import { StreamPool, type StreamPoolOptions, type StreamSource } from '../../watching/stream-pool.ts'
import { reconcilerLabel } from '../children/labels.ts'
import type { ReconcilingContext } from '../context.ts'
import { createChildSource } from './child-source.ts'
import { WatchMapping } from './map-func.ts'
import { triggerListed, triggerOwners, triggerParent } from './triggers.ts'

export interface OwnedAndWatchedOptions extends StreamPoolOptions {
  readonly registry: Registry
}

/** A resource that reconcilers own or watch. */
export interface RelatedResource {
  readonly resource: Resource
  /** Children are written; other objects are only watched. */
  readonly isOwned: boolean
}

interface OpenSource extends RelatedResource {
  readonly source: StreamSource
}

/** A reconciler that watches a resource, with its map function. */
interface WatchingReconciler {
  readonly handler: ReconcileHandler
  readonly mapping: WatchMapping
}

export class OwnedAndWatched {
  readonly #context: ReconcilingContext
  readonly #options: OwnedAndWatchedOptions
  readonly #sources: StreamPool
  /** The open sources, by purpose (`children` or `others`) and resource. */
  readonly #open = new Map<string, OpenSource>()

  constructor(context: ReconcilingContext, options: OwnedAndWatchedOptions) {
    this.#context = context
    this.#options = options
    this.#sources = new StreamPool(context, options)
  }

  /** Opens and closes streams for the resources of the cluster. `namespaces` are the served namespaces; undefined for the whole cluster. */
  arrange(known: readonly Resource[], namespaces: readonly string[] | undefined): void {
    const desired = new Map([...this.#ownedSources(known), ...this.#watchedSources(known)])
    for (const [key, { source }] of [...this.#open]) {
      if (desired.has(key)) continue
      this.#sources.close(source)
      this.#open.delete(key)
    }
    for (const [key, create] of desired) {
      if (this.#open.has(key)) continue
      const open = create()
      this.#open.set(key, open)
      const scopes = open.resource.namespaced ? (namespaces ?? [undefined]) : [undefined]
      for (const namespace of scopes) this.#sources.open(open.source, namespace)
    }
  }

  enterNamespace(name: string): void {
    for (const { source, resource } of this.#open.values()) if (resource.namespaced) this.#sources.open(source, name)
  }

  leaveNamespace(name: string): void {
    this.#sources.closeNamespace(name)
  }

  get related(): Iterable<RelatedResource> {
    return this.#open.values()
  }

  /** All reconcilers that own a kind share one source. */
  *#ownedSources(known: readonly Resource[]): Iterable<[string, () => OpenSource]> {
    const { childrenIndex, settings } = this.#context
    const owners = new Map<string, { readonly resource: Resource; readonly handlers: ReconcileHandler[] }>()
    for (const handler of this.#handlers) {
      for (const selector of handler.reconciling.owns) {
        const resource = find(selector, known)
        childrenIndex.resolve(selector, resource)
        if (resource === undefined) continue
        const owner = owners.get(formatResource(resource)) ?? { resource, handlers: [] }
        owner.handlers.push(handler)
        owners.set(formatResource(resource), owner)
      }
    }
    for (const [name, { resource, handlers }] of owners) {
      const labelled = handlers.map((handler) => ({
        labels: { [reconcilerLabel]: { equals: childrenIndex.labelOf(handler) } },
      }))
      const selectors = sharedSelectors(labelled, settings.watching, resource)
      const create = () =>
        createChildSource(childrenIndex, {
          resource,
          selectors,
          onChanged: (ownerKey, state) => triggerParent(this.#context, ownerKey, state),
          onListed: (namespace, isFirst) => triggerListed(this.#context, handlers, { namespace, isFirst }),
        })
      yield [`children ${name}`, () => ({ source: create(), resource, isOwned: true })]
    }
  }

  *#watchedSources(known: readonly Resource[]): Iterable<[string, () => OpenSource]> {
    const watches = new Map<string, { readonly resource: Resource; readonly all: Array<[ReconcileHandler, Watch]> }>()
    for (const handler of this.#handlers) {
      for (const watch of handler.reconciling.watches) {
        const resource = find(watch.selector, known)
        if (resource === undefined) continue
        const found = watches.get(formatResource(resource)) ?? { resource, all: [] }
        found.all.push([handler, watch])
        watches.set(formatResource(resource), found)
      }
    }
    for (const [name, { resource, all }] of watches) {
      yield [`others ${name}`, () => ({ source: this.#createWatchSource(resource, all), resource, isOwned: false })]
    }
  }

  #createWatchSource(resource: Resource, all: ReadonlyArray<readonly [ReconcileHandler, Watch]>): StreamSource {
    const watchers = all.map(([handler, { ownersOf }]) => ({ handler, mapping: new WatchMapping(ownersOf) }))
    return {
      resource,
      selectors: sharedSelectors([], this.#context.settings.watching, resource),
      keepsManagedFields: false,
      take: (event) => {
        if (event.type === 'listed') return
        for (const watcher of watchers) {
          if (event.type === 'deleted')
            triggerOwners(this.#context, watcher.handler, watcher.mapping.forget(event.object))
          else this.#map(watcher, deepFreeze(event.object))
        }
      },
    }
  }

  /** If the map function fails, no reconciler is triggered, and the former owners stay until the next state of the object. */
  #map({ handler, mapping }: WatchingReconciler, object: Parameters<WatchMapping['map']>[0]): void {
    try {
      triggerOwners(this.#context, handler, mapping.map(object))
    } catch (error) {
      const message = `Reconciler '${handler.id}' is not triggered: its function in "watches" failed: ${describeError(error)}`
      objectLogger(this.#context, object).error(message, { error })
    }
  }

  get #handlers(): readonly ReconcileHandler[] {
    return this.#options.registry.ofCategory('reconcile')
  }
}

function find(selector: ResourceSelector, known: readonly Resource[]): Resource | undefined {
  const [resource] = selectResources(selector, known).selected
  return resource?.verbs.includes('list') && resource.verbs.includes('watch') ? resource : undefined
}
