/**
 * Reads the records of a peering object, and decides whether they pause this operator. Pure. Called by peering.ts after every change of the object.
 * Any client may write the object, so that no content is an error. The cost is linear in the number of records: the largest object that the API server
 * stores has more than 100,000.
 */
import type { KubeObject } from '../kube/objects.ts'
import { isPlainObject } from '../util/json/json.ts'
import { cutText } from '../util/log/error-text.ts'
import { formatTimestamp, parseTimestamp } from '../util/text/timestamps.ts'

export interface Peer {
  readonly identity: string
  readonly priority: number
  /** In seconds, from the record. */
  readonly lifetime: number
  /** The wall-clock time in the record, or else the time at which the record was first seen. */
  readonly lastSeenMs: number
  /** Whether the record has a valid `lastseen`. */
  readonly hasLastSeen: boolean
  /** When the peer counts as dead, by the monotonic clock. */
  readonly deadlineMs: number
  /** The lifetime in the record is longer than `maxLifetimeMs`, which counts instead. */
  readonly isCapped: boolean
}

/** This operator. */
export interface OwnPeer {
  readonly identity: string
  readonly priority: number
  /** The operators each process their own share of the objects: peers of the same priority do not pause each other. */
  readonly isSharded: boolean
}

export interface PeeringDecision {
  /** Peers whose records have expired. */
  readonly dead: readonly Peer[]
  /** Live peers with a higher priority. */
  readonly prioPeers: readonly Peer[]
  /** Live peers with the same priority, if that is a conflict. */
  readonly samePeers: readonly Peer[]
  /** When the first of `prioPeers` and `samePeers` expires, by the monotonic clock. Undefined: no peer pauses this operator. */
  readonly untilMs: number | undefined
}

export interface PeeringTime {
  /** The wall-clock time, for the comparison with `lastseen`. */
  readonly nowMs: number
  readonly monotonicMs: number
  /** The longest time for which a record counts after its `lastseen`. */
  readonly maxLifetimeMs: number
}

/** Peers by identity. The result of one reading is an input of the next one. */
export type Peers = ReadonlyMap<string, Peer>

const defaultLifetime = 60
const maxDescribed = 10
const maxIdentityLength = 253

/**
 * Reads all records. Missing and malformed values get Kopf's defaults. The deadline of a record is fixed when the record is first seen with this
 * `lastseen` and `lifetime`; a missing `lastseen`, or one in the future, counts as that moment. So a record that is not renewed expires, whatever its
 * content.
 */
export function readPeers({ status }: KubeObject, before: Peers, time: PeeringTime): Peers {
  const peers = new Map<string, Peer>()
  if (!isPlainObject(status)) return peers
  for (const identity of Object.keys(status)) {
    const record = (status as Readonly<Record<string, unknown>>)[identity]
    if (isPlainObject(record)) peers.set(identity, readPeer(identity, record, before.get(identity), time))
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
  if (before !== undefined && isSameKeepAlive(before, lifetime, lastSeenMs)) {
    return before.priority === priority ? before : { ...before, priority }
  }
  const seenMs = Math.min(lastSeenMs ?? nowMs, nowMs)
  const isCapped = lifetime * 1000 > maxLifetimeMs
  const leftMs = seenMs + (isCapped ? maxLifetimeMs : lifetime * 1000) - nowMs
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

/** Whether the record was not renewed: only `lastseen` and `lifetime` count, so that a change of other fields does not extend it. */
function isSameKeepAlive(peer: Peer, lifetime: number, lastSeenMs: number | undefined): boolean {
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
  const prioPeers: Peer[] = []
  const samePeers: Peer[] = []
  let untilMs: number | undefined
  for (const peer of peers.values()) {
    if (peer.identity === identity) continue
    const isDead = peer.deadlineMs <= monotonicMs
    const isRival = !isSharded && peer.priority === priority
    if (isDead) dead.push(peer)
    else if (peer.priority > priority) prioPeers.push(peer)
    else if (isRival) samePeers.push(peer)
    if (!isDead && (isRival || peer.priority > priority)) untilMs = Math.min(untilMs ?? Infinity, peer.deadlineMs)
  }
  return { dead, prioPeers, samePeers, untilMs }
}

/** Formats peers as Kopf does in its log: at most ten, and the number of the others. */
export function describePeers(peers: readonly Peer[]): string {
  const words = peers.slice(0, maxDescribed).map(({ identity, priority, lifetime, lastSeenMs }) => {
    const name = cutText(identity, maxIdentityLength)
    return `<Peer ${name}: priority=${priority}, lifetime=${lifetime}, lastseen='${formatTimestamp(lastSeenMs)}'>`
  })
  const more = peers.length > maxDescribed ? ` and ${peers.length - maxDescribed} more` : ''
  return `[${words.join(', ')}]${more}`
}
