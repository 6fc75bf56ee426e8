/** What can be seen of watching from outside: by logs, metrics and tests. */
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'

/** Which stream is spoken of. */
export interface WatchScope {
  readonly resource: Resource
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
}

export type WatchState =
  /** The objects that are there are being asked for. */
  | { readonly type: 'listing' }
  /** They are known, and changes come as they happen. */
  | { readonly type: 'watching' }
  /** Nothing comes; it is tried again after the delay. */
  | { readonly type: 'broken'; readonly error: unknown; readonly delayMs: number; readonly attempt: number }

export interface WatchObserver {
  /** `broken` comes once for every failed attempt, the others only when they are news. */
  watchStateChanged(state: WatchState, scope: WatchScope): void
  /** Something came that is not as the API promises, and was passed over: a few times per connection at most. */
  watchWarned(message: string, scope: WatchScope): void
}

export function describeScope({ resource, namespace }: WatchScope): string {
  return `${formatResource(resource)} ${namespace === undefined ? 'cluster-wide' : `in "${namespace}"`}`
}
