/** What is remembered of each object while it lives; gone with it. The object itself keeps all that must survive us. */
import type { Essence } from '../core/causation/causes.ts'
import type { Handler } from '../core/handling/handler.ts'
import type { Progress } from '../core/handling/progress.ts'
import type { ResourceHandlers } from '../core/handling/registry.ts'
import type { Wishes } from '../core/handling/results.ts'
import type { PatchFunction } from '../core/patching/patch.ts'
import type { WatchSelectors } from '../core/watching/scope.ts'
import type { Tasks } from '../features/daemons/task.ts'
import type { IndexedObject } from '../features/indexing/indexed-object.ts'
import { Reconciliation } from '../features/reconciling/reconciliation.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import type { RecentMap } from '../util/recent-map.ts'

/** A resource that handlers are registered for, in all the namespaces served. */
export interface Served {
  /** As it was described last: group, version, plural, kind and scope are always the same. */
  resource: Resource
  readonly handlers: ResourceHandlers
  /** What the server was asked to leave out, and whether that is more than what no handler is for. */
  readonly selectors: WatchSelectors
  readonly isNarrowedBySettings: boolean
  /** There are timers that wait until changes have settled. */
  readonly hasIdling: boolean
  /** There is nobody but indexing functions: of the objects no more is kept than who they are. */
  readonly isOnlyIndexed: boolean
  /** By uid. */
  readonly memories: Memories
  /** Those that live out of our sight, by uid: the version they had when we looked last. Only the latest of them. */
  readonly unseen: RecentMap<string, string>
  /** Conditions do not stay on its objects: none are written by us any more. */
  dropsConditions: boolean
  /** What a built-in kind does not have in its status, and never will: not written any more. As `status.field`. */
  readonly dropped: Set<string>
  /** Set when it is served no more: the cluster has it no longer, and no object of it; or no handler is for it. */
  end: 'gone' | 'unwanted' | undefined
}

export interface Unwritten {
  readonly merge: JsonObject
  readonly fns: readonly PatchFunction<KubeObject>[]
  /** The essence that counts as handled once this is written. */
  readonly handled: Essence | undefined
  /** The version of the object that the server first refused it for; undefined where it has not. */
  readonly refusedAt: string | undefined
  /** How often in a row it was the server's verdict. */
  readonly refusals: number
}

export interface Memory {
  /** Another one when the resource is served in another version from now on. */
  served: Served
  /** The newest state we know: from the watch, or from the answer to our own write. Never goes back. */
  body: KubeObject
  /** It was there when we began to watch, and has not been handled to the end since. */
  isInitial: boolean
  /** The server was asked how it is since we lead: what another leader has written before is known. See confirm.ts. */
  isConfirmed: boolean
  isGone: boolean
  /** No handler is called for the object because of its size, and that was reported. Written by too-large.ts. */
  isTooLarge: boolean
  /** The operator was paused since the object was last seen: what it knows may be of the past. */
  isUnwatched: boolean
  /** It was said to be gone, and what follows from that is not done yet. */
  goodbye: { readonly object: KubeObject; readonly missed: boolean } | undefined
  /** The state for which the server said that the object is not there: nothing is begun until something else comes. */
  vanishedAt: string | undefined
  /** Made when somebody asks for it. */
  memo: object | undefined
  /** What stands for it in the indices; undefined where it is in none. */
  indexed: IndexedObject | undefined
  /** The version our last write made, where versions cannot be compared: older states may still come until the deadline. */
  expected: { readonly version: string; readonly untilMs: number } | undefined
  /** A state that came while another was expected. */
  held: KubeObject | undefined
  /** What the object should say of its handlers' progress, in case it does not keep it. */
  progress: ReadonlyMap<string, Progress> | undefined
  /** The essence that was handled although the object does not say so. */
  unstored: Essence | undefined
  /** What could not be written: it is tried again before anything else, so that nobody is called twice for it. */
  unwritten: Unwritten | undefined
  /** What daemons and timers want written, and could not write themselves. */
  leftOver: Map<Handler, Wishes> | undefined
  /** Resolves when the write that is under way is over. */
  writing: Promise<void> | undefined
  /** Its reconcilers, as far as there has been anything to do for them. */
  reconciling: Map<Handler, Reconciliation> | undefined
  /** Its daemons and timers. */
  tasks: Tasks<Memory> | undefined
  /** The digest of the essence of the newest state that was seen, and since when it is so; by the clock that nobody sets. */
  essence: { readonly digest: string; readonly version: string | undefined } | undefined
  changedMs: number
  /** Failures of the framework in a row, and how long it is left alone for them; by the same clock. */
  failures: number
  /** Likewise by the clock that nobody sets, as are all other times here. */
  throttledUntilMs: number
  /** Runs of change handlers that followed each other closely, and when the next may begin; by the same clock. */
  hotRuns: number
  pausedUntilMs: number
}

export function allHandlers({ index, event, change, background, reconcile }: ResourceHandlers): readonly Handler[] {
  return [...index, ...event, ...change, ...background, ...reconcile]
}

/** By uid; and by name too, where somebody asks for objects by their names. */
export class Memories extends Map<string, Memory> {
  readonly #names: Map<string, Memory> | undefined

  constructor({ areNamed }: { readonly areNamed: boolean }) {
    super()
    this.#names = areNamed ? new Map() : undefined
  }

  named(namespace: string | undefined, name: string): Memory | undefined {
    return this.#names?.get(`${namespace ?? ''}/${name}`)
  }

  override set(key: string, memory: Memory): this {
    this.#names?.set(nameOf(memory), memory)
    return super.set(key, memory)
  }

  override delete(key: string): boolean {
    const memory = this.get(key)
    // Another object may have the name by now.
    if (memory !== undefined && this.#names?.get(nameOf(memory)) === memory) this.#names.delete(nameOf(memory))
    return super.delete(key)
  }

  override clear(): void {
    this.#names?.clear()
    super.clear()
  }
}

function nameOf({ body: { metadata } }: Memory): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

/** What is remembered of one reconciler of an object. */
export function reconciliationOf(memory: Memory, handler: Handler): Reconciliation {
  memory.reconciling ??= new Map()
  const found = memory.reconciling.get(handler) ?? new Reconciliation()
  memory.reconciling.set(handler, found)
  return found
}

/** There is nobody but indexing functions. */
export function isOnlyIndexed(handlers: ResourceHandlers): boolean {
  return allHandlers(handlers).length === handlers.index.length
}

export function createMemory(
  served: Served,
  body: KubeObject,
  { isInitial, nowMs }: { readonly isInitial: boolean; readonly nowMs: number },
): Memory {
  return {
    served,
    body,
    isInitial,
    isConfirmed: false,
    isGone: false,
    isTooLarge: false,
    isUnwatched: false,
    goodbye: undefined,
    vanishedAt: undefined,
    memo: undefined,
    indexed: undefined,
    expected: undefined,
    held: undefined,
    progress: undefined,
    unstored: undefined,
    unwritten: undefined,
    leftOver: undefined,
    writing: undefined,
    reconciling: undefined,
    tasks: undefined,
    essence: undefined,
    changedMs: nowMs,
    failures: 0,
    throttledUntilMs: -Infinity,
    hotRuns: 0,
    pausedUntilMs: -Infinity,
  }
}

/** The uid; objects of some aggregated APIs have none, and are known by what they have. */
export function keyOf({ apiVersion, kind, metadata }: KubeObject): string {
  const { uid, name, namespace, creationTimestamp } = metadata
  return uid ?? [kind, apiVersion, name, namespace, creationTimestamp].map((part) => part ?? '-').join('//')
}
