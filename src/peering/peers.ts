/**
 * Who else is there, by what a peering object says, and whether we have to stand back for them. Pure: others write to that object,
 * so nothing in it is an error. Asked by peering.ts whenever it has changed, or a record has run out. The cost is linear in the
 * number of records: an object of the largest size that the API server stores holds more than 100,000.
 */
import type { KubeObject } from '../kube/objects.ts'
import { isPlainObject } from '../util/json/json.ts'
import { cutText } from '../util/log/error-text.ts'
import { formatTimestamp, parseTimestamp } from '../util/text/timestamps.ts'

export interface Peer {
  readonly identity: string
  readonly priority: number
  /** In seconds, as the record has it. */
  readonly lifetime: number
  /** As the record has it; where it has none, when we first saw the record. By the time of day. */
  readonly lastSeenMs: number
  readonly hasLastSeen: boolean
  /** From then on it counts as dead; by the monotonic clock. */
  readonly deadlineMs: number
  /** The record asks for more than `maxLifetimeMs`. */
  readonly isCapped: boolean
}

/** Who is looking. */
export interface OwnPeer {
  readonly identity: string
  readonly priority: number
  /** Each sees only its share of the objects: those of the same priority do not get in each other's way. */
  readonly isSharded: boolean
}

export interface PeeringDecision {
  /** Others that have not been heard of for too long. */
  readonly dead: readonly Peer[]
  /** Those of a higher priority. */
  readonly superiors: readonly Peer[]
  /** Those of the same one, where that is a conflict. */
  readonly rivals: readonly Peer[]
  /** When the first of these runs out, unless it is heard of again; undefined where nobody stands in our way. */
  readonly untilMs: number | undefined
}

export interface PeeringTime {
  /** The time of day, which `lastseen` is compared with. */
  readonly nowMs: number
  readonly monotonicMs: number
  /** The longest time for which a record counts after its `lastseen`. */
  readonly maxLifetimeMs: number
}

/** Peers by identity: as they were read last, and the input for the next reading. */
export type Peers = ReadonlyMap<string, Peer>

const defaultLifetime = 60
const maxDescribed = 10
const maxIdentityLength = 253

/**
 * Missing and malformed values are as Kopf has them by default. The deadline of a record is fixed when the record is first seen
 * with this `lastseen` and `lifetime`: a missing `lastseen`, or one in the future, counts as that moment. So every record that is
 * not renewed runs out, for any content.
 */
export function readPeers({ status }: KubeObject, before: Peers, moment: PeeringTime): Peers {
  const peers = new Map<string, Peer>()
  if (!isPlainObject(status)) return peers
  for (const identity of Object.keys(status)) {
    const record = (status as Readonly<Record<string, unknown>>)[identity]
    if (isPlainObject(record)) peers.set(identity, readPeer(identity, record, before.get(identity), moment))
  }
  return peers
}

function readPeer(
  identity: string,
  record: Readonly<Record<string, unknown>>,
  before: Peer | undefined,
  { nowMs, monotonicMs, maxLifetimeMs }: PeeringTime,
): Peer {
  const priority = toNumber(record['priority']) ?? 0
  const lifetime = Math.trunc(toNumber(record['lifetime']) ?? defaultLifetime)
  const lastSeenMs = typeof record['lastseen'] === 'string' ? parseTimestamp(record['lastseen']) : undefined
  const hasLastSeen = lastSeenMs !== undefined
  if (before !== undefined && isSameSign(before, lifetime, lastSeenMs)) {
    return before.priority === priority ? before : { ...before, priority }
  }
  const heardMs = Math.min(lastSeenMs ?? nowMs, nowMs)
  const isCapped = lifetime * 1000 > maxLifetimeMs
  const leftMs = heardMs + (isCapped ? maxLifetimeMs : lifetime * 1000) - nowMs
  return {
    identity,
    priority,
    lifetime,
    lastSeenMs: lastSeenMs ?? nowMs,
    hasLastSeen,
    deadlineMs: monotonicMs + leftMs,
    isCapped,
  }
}

/** Only these two fields are a sign of life: any author of the object can touch the others. */
function isSameSign(peer: Peer, lifetime: number, lastSeenMs: number | undefined): boolean {
  if (peer.lifetime !== lifetime || peer.hasLastSeen !== (lastSeenMs !== undefined)) return false
  return lastSeenMs === undefined || lastSeenMs === peer.lastSeenMs
}

function toNumber(value: unknown): number | undefined {
  const isNumeric = typeof value === 'number' || typeof value === 'bigint'
  if (!isNumeric && (typeof value !== 'string' || value.trim() === '')) return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

export function decidePause(
  peers: Peers,
  { identity, priority, isSharded }: OwnPeer,
  monotonicMs: number,
): PeeringDecision {
  const dead: Peer[] = []
  const superiors: Peer[] = []
  const rivals: Peer[] = []
  let untilMs: number | undefined
  for (const peer of peers.values()) {
    if (peer.identity === identity) continue
    const isDead = peer.deadlineMs <= monotonicMs
    const isRival = !isSharded && peer.priority === priority
    if (isDead) dead.push(peer)
    else if (peer.priority > priority) superiors.push(peer)
    else if (isRival) rivals.push(peer)
    if (!isDead && (isRival || peer.priority > priority)) untilMs = Math.min(untilMs ?? Infinity, peer.deadlineMs)
  }
  return { dead, superiors, rivals, untilMs }
}

/** As Kopf writes them into its log; of many, the first ones and how many more there are. */
export function describePeers(peers: readonly Peer[]): string {
  const words = peers.slice(0, maxDescribed).map(({ identity, priority, lifetime, lastSeenMs }) => {
    const name = cutText(identity, maxIdentityLength)
    return `<Peer ${name}: priority=${priority}, lifetime=${lifetime}, lastseen='${formatTimestamp(lastSeenMs)}'>`
  })
  const more = peers.length > maxDescribed ? ` and ${peers.length - maxDescribed} more` : ''
  return `[${words.join(', ')}]${more}`
}
