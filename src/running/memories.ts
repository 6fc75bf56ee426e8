/** What is remembered of each object while it lives; gone with it. The object itself keeps all that must survive us. */
import type { Essence } from '../core/causation/causes.ts'
import type { Progress } from '../core/handling/progress.ts'
import type { ResourceHandlers } from '../core/handling/registry.ts'
import type { PatchFunction } from '../core/patching/patch.ts'
import type { WatchSelectors } from '../core/watching/scope.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'

/** A resource that handlers are registered for, in all the namespaces served. */
export interface Served {
  readonly resource: Resource
  readonly handlers: ResourceHandlers
  /** What the server was asked to leave out. */
  readonly selectors: WatchSelectors
  /** By uid. */
  readonly memories: Map<string, Memory>
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
  readonly served: Served
  /** The newest state we know: from the watch, or from the answer to our own write. Never goes back. */
  body: KubeObject
  /** It was there when we began to watch, and has not been handled to the end since. */
  isInitial: boolean
  isGone: boolean
  /** It was said to be gone, and what follows from that is not done yet. */
  goodbye: { readonly object: KubeObject; readonly missed: boolean } | undefined
  /** The state for which the server said that the object is not there: nothing is begun until something else comes. */
  vanishedAt: string | undefined
  /** Made when somebody asks for it. */
  memo: object | undefined
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
  /** Failures of the framework in a row. */
  failures: number
  throttledUntilMs: number
  /** Runs of change handlers that followed each other closely, and when the next may begin. */
  hotRuns: number
  pausedUntilMs: number
}

export function createMemory(served: Served, body: KubeObject, isInitial: boolean): Memory {
  return {
    served,
    body,
    isInitial,
    isGone: false,
    goodbye: undefined,
    vanishedAt: undefined,
    memo: undefined,
    expected: undefined,
    held: undefined,
    progress: undefined,
    unstored: undefined,
    unwritten: undefined,
    failures: 0,
    throttledUntilMs: 0,
    hotRuns: 0,
    pausedUntilMs: 0,
  }
}

/** The uid; objects of some aggregated APIs have none, and are known by what they have. */
export function keyOf({ apiVersion, kind, metadata }: KubeObject): string {
  const { uid, name, namespace, creationTimestamp } = metadata
  return uid ?? [kind, apiVersion, name, namespace, creationTimestamp].map((part) => part ?? '-').join('//')
}
