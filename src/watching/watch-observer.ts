/** The states of a watch that a reflector reports, for logs, health, metrics and tests. */
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'

/** Identifies a watch stream. */
export interface WatchScope {
  readonly resource: Resource
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
}

export type WatchState =
  /** The existing objects are being requested. */
  | { readonly type: 'listing' }
  /** The existing objects are known, and changes are received. */
  | { readonly type: 'watching' }
  /** The watch has failed, and is retried after the delay. */
  | { readonly type: 'broken'; readonly error: unknown; readonly delayMs: number; readonly attempt: number }

export interface WatchObserver {
  /** Called once for every failed attempt (`broken`); for the other states only when the state changes. */
  watchStateChanged(state: WatchState, scope: WatchScope): void
  /** Called when an invalid line or object was skipped; a few times per connection at most. */
  watchWarned(message: string, scope: WatchScope): void
  /** Called when data of the watch has arrived. */
  watchReceived?(scope: WatchScope): void
}

export function describeScope({ resource, namespace }: WatchScope): string {
  return `${formatResource(resource)} ${namespace === undefined ? 'cluster-wide' : `in "${namespace}"`}`
}
