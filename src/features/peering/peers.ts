/**
 * Who else is there, by what a peering object says, and whether we have to stand back for them. Pure: others write to that object,
 * so nothing in it is an error. Asked by peering.ts whenever it has changed, or a record has run out.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json.ts'
import { formatTimestamp, parseTimestamp } from '../../util/timestamps.ts'

export interface Peer {
  readonly identity: string
  readonly priority: number
  /** In seconds. */
  readonly lifetime: number
  readonly lastSeenMs: number
  /** From then on it counts as dead. */
  readonly deadlineMs: number
}

/** Who is looking. */
export interface Self {
  readonly identity: string
  readonly priority: number
  /** Each sees only its share of the objects: those of the same priority do not get in each other's way. */
  readonly isSharded: boolean
}

export interface Judgement {
  /** Others that have not been heard of for too long. */
  readonly dead: readonly Peer[]
  /** Those of a higher priority. */
  readonly superiors: readonly Peer[]
  /** Those of the same one, where that is a conflict. */
  readonly rivals: readonly Peer[]
  /** When the first of these runs out, unless it is heard of again; undefined where nobody stands in our way. */
  readonly untilMs: number | undefined
}

const defaultLifetime = 60

/** What is missing or makes no sense is as Kopf has it by default; without a time, it was seen just now. */
export function readPeers({ status }: KubeObject, nowMs: number): Peer[] {
  if (!isPlainObject(status)) return []
  return Object.entries(status).flatMap(([identity, record]) => {
    if (!isPlainObject(record)) return []
    const { priority, lifetime, lastseen } = record as Readonly<Record<string, unknown>>
    const lastSeenMs = (typeof lastseen === 'string' ? parseTimestamp(lastseen) : undefined) ?? nowMs
    const seconds = Math.trunc(toNumber(lifetime) ?? defaultLifetime)
    const deadlineMs = lastSeenMs + seconds * 1000
    return [{ identity, priority: toNumber(priority) ?? 0, lifetime: seconds, lastSeenMs, deadlineMs }]
  })
}

function toNumber(value: unknown): number | undefined {
  const isNumeric = typeof value === 'number' || typeof value === 'bigint'
  if (!isNumeric && (typeof value !== 'string' || value.trim() === '')) return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

export function judge(peers: readonly Peer[], { identity, priority, isSharded }: Self, nowMs: number): Judgement {
  const others = peers.filter((peer) => peer.identity !== identity)
  const isDead = ({ deadlineMs }: Peer) => deadlineMs <= nowMs
  const alive = others.filter((peer) => !isDead(peer))
  const superiors = alive.filter((peer) => peer.priority > priority)
  const rivals = isSharded ? [] : alive.filter((peer) => peer.priority === priority)
  const blocking = [...superiors, ...rivals]
  const untilMs = blocking.length === 0 ? undefined : Math.min(...blocking.map(({ deadlineMs }) => deadlineMs))
  return { dead: others.filter(isDead), superiors, rivals, untilMs }
}

/** As Kopf writes them into its log. */
export function describePeers(peers: readonly Peer[]): string {
  const words = peers.map(
    ({ identity, priority, lifetime, lastSeenMs }) =>
      `<Peer ${identity}: priority=${priority}, lifetime=${lifetime}, lastseen='${formatTimestamp(lastSeenMs)}'>`,
  )
  return `[${words.join(', ')}]`
}
