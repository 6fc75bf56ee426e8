/** What lists and watches ask for, as queries. Pure; the requests are made by reflector.ts. */
import type { ApiCall } from '../client/session.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import type { WatchSelectors } from './label-pushdown.ts'

export type Query = NonNullable<ApiCall['query']>

export interface ListFrom {
  /** The new list must not be older than this; undefined for a list that is as new as the store itself. */
  readonly notOlderThan: string | undefined
  /** The list must be of this version; wins over the other. */
  readonly exactly?: string | undefined
}

export interface WatchFrom extends ListFrom {
  /** Where to go on; undefined for the objects that are there first. */
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
  // The match is required with `sendInitialEvents`, also where there is no version to match.
  const initial = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
  return { ...always, ...initial, ...listQuery({ notOlderThan }, selectors) }
}

/** Unless told: five to ten minutes by chance, so that those who started together do not come back together. */
export function timeoutSecondsOf(serverTimeout: Duration | null, random: () => number): number {
  if (serverTimeout === null) return Math.floor(300 * (1 + random()))
  return Math.max(1, Math.ceil(toMs(serverTimeout, 'watching.serverTimeout') / 1000))
}

/** Objects without all but their metadata, as every server since 1.15 sends them to whoever asks for this form. */

/** What such objects say they are, whatever they are. */
export const metadataKind = 'PartialObjectMetadata'

/** By what is asked for. */
export const metadataForms: Readonly<Record<'list' | 'watch', string>> = {
  list: `application/json;as=${metadataKind}List;g=meta.k8s.io;v=v1`,
  watch: `application/json;as=${metadataKind};g=meta.k8s.io;v=v1`,
}
