/**
 * Between objects that are reconciled and what belongs to them: which kinds to watch for their sake, and whom to call when one of
 * those has changed. Told by orchestrate.ts what the cluster serves; knows the children by features/reconciling/kinship.ts.
 */
import type { Handler, Watch } from '../core/handling/handler.ts'
import { describeError } from '../core/handling/outcomes.ts'
import type { Registry } from '../core/handling/registry.ts'
import { sharedSelectors } from '../core/watching/scope.ts'
import { canOwn } from '../features/reconciling/child-cache.ts'
import { Mapping, type Owner } from '../features/reconciling/mapping.ts'
import { reconcilerLabel } from '../features/reconciling/marks.ts'
import { markOfChild, watchedMark } from '../features/reconciling/reconciliation.ts'
import type { Resource } from '../kube/resources.ts'
import { formatResource, type ResourceSelector, selectResources } from '../kube/selectors.ts'
import { deepFreeze } from '../util/frozen.ts'
import { createChildSource } from './child-source.ts'
import type { Memory, Served } from './memories.ts'
import { reconciliationOf } from './memories.ts'
import type { Related } from './needs.ts'
import type { Runtime } from './runtime.ts'
import { loggerOf } from './runtime.ts'
import { type Source, Sources, type SourcesOptions } from './sources.ts'

export interface RelationsOptions extends SourcesOptions {
  readonly registry: Registry
  readonly served: () => Iterable<Served>
}

interface OpenSource extends Related {
  readonly source: Source
}

/** A watch of a handler that is for something in the cluster. */
interface Watcher {
  readonly handler: Handler
  readonly mapping: Mapping
}

export class Relations {
  readonly #runtime: Runtime
  readonly #options: RelationsOptions
  readonly #sources: Sources
  /** By what they are for, and the resource, in text. */
  readonly #open = new Map<string, OpenSource>()

  constructor(runtime: Runtime, options: RelationsOptions) {
    this.#runtime = runtime
    this.#options = options
    this.#sources = new Sources(runtime, options)
    const isKnown = (uid: string) => [...options.served()].some(({ memories }) => memories.has(uid))
    runtime.kinship.isOwner = isKnown
    runtime.kinship.onMoved = (parentage) => this.#callParents(parentage, {})
  }

  /** It is known anew what there is; `namespaces` are those that are served, undefined for the whole cluster. */
  arrange(known: readonly Resource[], namespaces: readonly string[] | undefined): void {
    const wanted = new Map([...this.#wantedOwned(known), ...this.#wantedWatched(known)])
    for (const [key, { source }] of [...this.#open]) {
      if (wanted.has(key)) continue
      this.#sources.close(source)
      this.#open.delete(key)
    }
    for (const [key, create] of wanted) {
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

  /** What is watched. */
  get related(): Iterable<Related> {
    return this.#open.values()
  }

  /** One stream for all children of a kind, whoever has made them. */
  *#wantedOwned(known: readonly Resource[]): Iterable<[string, () => OpenSource]> {
    const { kinship, settings } = this.#runtime
    const owners = new Map<string, { readonly resource: Resource; readonly handlers: Handler[] }>()
    for (const handler of this.#handlers) {
      for (const selector of handler.reconciling!.owns) {
        const resource = find(selector, known)
        kinship.resolve(selector, resource)
        if (resource === undefined) continue
        const owner = owners.get(formatResource(resource)) ?? { resource, handlers: [] }
        owner.handlers.push(handler)
        owners.set(formatResource(resource), owner)
      }
    }
    for (const [name, { resource, handlers }] of owners) {
      const labelled = handlers.map((handler) => ({
        labels: { [reconcilerLabel]: { equals: kinship.labelOf(handler) } },
      }))
      const selectors = sharedSelectors(labelled, settings.watching, resource)
      const callbacks = {
        onChanged: this.#callParents,
        onSeen: (...scope: readonly [string | undefined, boolean]) => this.#callThere(handlers, ...scope),
      }
      const create = () => createChildSource(this.#runtime, { resource, selectors, ...callbacks })
      yield [`children ${name}`, () => ({ source: create(), resource, isOwned: true })]
    }
  }

  *#wantedWatched(known: readonly Resource[]): Iterable<[string, () => OpenSource]> {
    const watches = new Map<string, { readonly resource: Resource; readonly all: Array<[Handler, Watch]> }>()
    for (const handler of this.#handlers) {
      for (const watch of handler.reconciling!.watches) {
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

  #createWatchSource(resource: Resource, all: ReadonlyArray<readonly [Handler, Watch]>): Source {
    const watchers = all.map(([handler, { ownersOf }]) => ({ handler, mapping: new Mapping(ownersOf) }))
    return {
      resource,
      selectors: sharedSelectors([], this.#runtime.settings.watching, resource),
      keepsManagedFields: false,
      take: (event) => {
        if (event.type === 'listed') return
        for (const watcher of watchers) {
          if (event.type === 'deleted') this.#callOwners(watcher.handler, watcher.mapping.forget(event.object))
          else this.#map(watcher, deepFreeze(event.object))
        }
      },
      onBegin: () => {},
      onBroken: () => {},
      onClosed: () => {},
    }
  }

  /** A function that fails leaves all as it was: the next state of the object may do. */
  #map({ handler, mapping }: Watcher, object: Parameters<Mapping['note']>[0]): void {
    try {
      this.#callOwners(handler, mapping.note(object))
    } catch (error) {
      const words = `Reconciler '${handler.id}' is not told of it: its function in "watches" failed: ${describeError(error)}`
      loggerOf(this.#runtime, object).error(words, { error })
    }
  }

  #callOwners(handler: Handler, owners: readonly Owner[]): void {
    for (const { namespace, name } of owners) {
      for (const served of this.#servedBy(handler)) {
        const memory = served.memories.named(served.resource.namespaced ? namespace : undefined, name)
        if (memory !== undefined) this.#call(memory, handler, watchedMark)
      }
    }
  }

  readonly #callParents: Parameters<typeof createChildSource>[1]['onChanged'] = (
    { owner, label, namespace },
    { uid, version },
  ) => {
    for (const served of this.#options.served()) {
      const memory = served.memories.get(owner)
      if (memory === undefined || !canOwn(memory.body.metadata.namespace, namespace)) continue
      for (const handler of served.handlers.reconcile) {
        if (this.#runtime.kinship.labelOf(handler) === label) this.#call(memory, handler, markOfChild(uid, version))
      }
    }
  }

  /** All of them, where their children were out of sight; else those that could not be called with all of them in sight. */
  #callThere(handlers: readonly Handler[], namespace: string | undefined, isFirst: boolean): void {
    for (const handler of handlers) {
      for (const { memories } of this.#servedBy(handler)) {
        for (const memory of memories.values()) {
          const own = memory.body.metadata.namespace
          if (namespace !== undefined && own !== undefined && own !== namespace) continue
          const { isBlind, isWaiting } = reconciliationOf(memory, handler)
          if (isFirst || isBlind || isWaiting) this.#call(memory, handler, 'seen', 'backlog')
        }
      }
    }
  }

  #call(memory: Memory, handler: Handler, reason: string, urgency: 'now' | 'backlog' = 'now'): void {
    reconciliationOf(memory, handler).mark(reason)
    this.#runtime.queue.put(memory, { type: 'wake' }, urgency)
  }

  *#servedBy(handler: Handler): Iterable<Served> {
    for (const served of this.#options.served()) if (served.handlers.reconcile.includes(handler)) yield served
  }

  get #handlers(): readonly Handler[] {
    return this.#options.registry.handlers.filter(({ reconciling }) => reconciling !== undefined)
  }
}

function find(selector: ResourceSelector, known: readonly Resource[]): Resource | undefined {
  const [resource] = selectResources(selector, known).selected
  return resource?.verbs.includes('list') && resource.verbs.includes('watch') ? resource : undefined
}
