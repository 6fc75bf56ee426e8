/** Builds the queries of list and watch requests. Pure; reflector.ts sends the requests. */
import type { ApiCall } from '../client/session.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import type { WatchSelectors } from './label-pushdown.ts'

export type Query = NonNullable<ApiCall['query']>

export interface ListFrom {
  /** The list must not be older than this version; undefined for the newest data of etcd. */
  readonly notOlderThan: string | undefined
  /** The list must have exactly this version. Takes precedence over `notOlderThan`. */
  readonly exactly?: string | undefined
}

export interface WatchFrom extends ListFrom {
  /** The version after which the watch continues; undefined to receive the existing objects first. */
  readonly version: string | undefined
  readonly timeoutSeconds: number
}

export function listQuery({ notOlderThan, exactly }: ListFrom, selectors: WatchSelectors = {}): Query {
  if (exactly) return { ...selectors, resourceVersion: exactly, resourceVersionMatch: 'Exact' }
  const guard = notOlderThan ? { resourceVersion: notOlderThan, resourceVersionMatch: 'NotOlderThan' } : {}
  return { ...selectors, ...guard }
}

export function watchQuery(from: WatchFrom, selectors: WatchSelectors = {}): Query {
  const { version, timeoutSeconds, notOlderThan } = from
  const always = { watch: true, allowWatchBookmarks: true, timeoutSeconds }
  if (version !== undefined) return { ...always, ...selectors, resourceVersion: version }
  // `resourceVersionMatch` is required with `sendInitialEvents`, even without a version.
  const initial = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
  return { ...always, ...initial, ...listQuery({ notOlderThan }, selectors) }
}

/**
 * The timeout of a watch on the server. Default: a random time between five and ten minutes, so that watches that were opened
 * together do not reconnect together.
 */
export function timeoutSecondsOf(serverTimeout: Duration | null, random: () => number): number {
  if (serverTimeout === null) return Math.floor(300 * (1 + random()))
  return Math.max(1, Math.ceil(toMs(serverTimeout, 'watching.serverTimeout') / 1000))
}

/** The kind of objects that are requested with their metadata only (Kubernetes 1.15 and later). */
export const metadataKind = 'PartialObjectMetadata'

/** The `Accept` headers for lists and watches of metadata only. */
export const metadataForms: Readonly<Record<'list' | 'watch', string>> = {
  list: `application/json;as=${metadataKind}List;g=meta.k8s.io;v=v1`,
  watch: `application/json;as=${metadataKind};g=meta.k8s.io;v=v1`,
}
