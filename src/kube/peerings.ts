/**
 * The peering of operators as it is on the wire, shared with Kopf: which resources are for it, and the record that each operator
 * keeps in the status of a peering object. Pure; who gives way to whom is said in features/peering.
 */
import { formatTimestamp } from '../util/timestamps.ts'
import type { JsonObject } from './objects.ts'
import type { Resource } from './resources.ts'

/** The second is what Kopf used to have; where both are installed, both count. */
export const peeringGroups: readonly string[] = ['kopf.dev', 'zalando.org']

const version = 'v1'

/** Operators believe a record for no longer than this, unless their settings say otherwise. */
export const defaultMaxLifetime = '24h'

/** Of the whole cluster, or of namespaces. */
export function pluralOfPeerings(isClusterwide: boolean): string {
  return isClusterwide ? 'clusterkopfpeerings' : 'kopfpeerings'
}

export function selectPeerings(resources: readonly Resource[], isClusterwide: boolean): Resource[] {
  const plural = pluralOfPeerings(isClusterwide)
  return resources.filter(
    (one) => peeringGroups.includes(one.group) && one.version === version && one.plural === plural,
  )
}

export interface SignOfLife {
  readonly identity: string
  readonly priority: number
  /** Others believe in it for so long; whole seconds. */
  readonly lifetime: number
}

/** A merge patch, since the object has many authors: each writes its own record and nothing else. */
export function toSignOfLife({ identity, priority, lifetime }: SignOfLife, nowMs: number): JsonObject {
  return { status: { [identity]: { priority, lifetime, lastseen: formatTimestamp(nowMs) } } }
}

/** The records of those who are not there any more. */
export function toRemoval(identities: readonly string[]): JsonObject {
  return { status: Object.fromEntries(identities.map((identity) => [identity, null])) }
}
