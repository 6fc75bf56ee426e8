/**
 * The format of peering objects, shared with Kopf: their resources, and the record of each operator in their status. Pure. Which
 * operator pauses is decided in peering/.
 */

import { formatTimestamp } from '../util/text/timestamps.ts'
import type { JsonObject } from './objects.ts'
import type { Resource } from './resources/resources.ts'

/** `zalando.org` is the old group of Kopf. If both are installed, both are used. */
export const peeringGroups: readonly string[] = ['kopf.dev', 'zalando.org']

const version = 'v1'

/** The default of `settings.peering.maxLifetime`: records with a longer lifetime count for this long only. */
export const defaultMaxLifetime = '24h'

/** The plural of cluster-wide or namespaced peering objects. */
export function pluralOfPeerings(isClusterwide: boolean): string {
  return isClusterwide ? 'clusterkopfpeerings' : 'kopfpeerings'
}

export function selectPeerings(resources: readonly Resource[], isClusterwide: boolean): Resource[] {
  const plural = pluralOfPeerings(isClusterwide)
  return resources.filter(
    (one) => peeringGroups.includes(one.group) && one.version === version && one.plural === plural,
  )
}

/** The record of one operator in the status of a peering object. */
export interface PeerRecord {
  readonly identity: string
  readonly priority: number
  /** Seconds after which other operators ignore the record; an integer. */
  readonly lifetime: number
}

/** A merge patch that writes the operator's own record: several operators write to the object. */
export function toKeepAlivePatch({ identity, priority, lifetime }: PeerRecord, nowMs: number): JsonObject {
  return { status: { [identity]: { priority, lifetime, lastseen: formatTimestamp(nowMs) } } }
}

/** A merge patch that removes the records of these operators. */
export function toRemovalPatch(identities: readonly string[]): JsonObject {
  return { status: Object.fromEntries(identities.map((identity) => [identity, null])) }
}
