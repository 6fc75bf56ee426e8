/** What is known of one event: how often it has happened, and what of that the cluster was told. Counted by poster.ts. */
import type { ObjectReference } from '../../kube/objects.ts'
import { RecentMap } from '../../util/recent-map.ts'
import type { EventContent } from './event-body.ts'

/** After so long without a repetition, the next one is a new event: the interval of client-go. */
const memoryMs = 10 * 60_000
const keptTallies = 4096

export interface Tally {
  readonly reference: ObjectReference
  readonly objectKey: string
  readonly content: EventContent
  backoffsMs: readonly number[]
  /** The name of the event in the cluster, once it is there. */
  name: string | undefined
  /** The count the event in the cluster has. */
  told: number
  untold: number
  /** When the first of the untold ones happened. */
  untoldSinceMs: number
  lastMs: number
  /** When the last request was made; undefined before the first. */
  sentAtMs: number | undefined
  /** A request is due, or being waited for: nobody needs to ask for another. */
  isScheduled: boolean
}

/** Whose events are posted in order, and limited together: the uid, else whatever names the object. */
export function toObjectKey({ uid, apiVersion, kind, namespace, name }: ObjectReference): string {
  return uid ?? JSON.stringify([apiVersion, kind, namespace, name])
}

export class Tallies {
  readonly #tallies = new RecentMap<string, Tally>(keptTallies)

  find(reference: ObjectReference, content: EventContent, nowMs: number): Tally | undefined {
    const tally = this.#tallies.get(toKey(reference, content))
    return tally !== undefined && nowMs - tally.lastMs <= memoryMs ? tally : undefined
  }

  add(reference: ObjectReference, content: EventContent, nowMs: number): Tally {
    const tally: Tally = {
      reference,
      objectKey: toObjectKey(reference),
      content,
      backoffsMs: [],
      name: undefined,
      told: 0,
      untold: 0,
      untoldSinceMs: nowMs,
      lastMs: nowMs,
      sentAtMs: undefined,
      isScheduled: false,
    }
    this.#tallies.set(toKey(reference, content), tally)
    return tally
  }
}

function toKey(reference: ObjectReference, { type, reason, message }: EventContent): string {
  return JSON.stringify([toObjectKey(reference), type, reason, message])
}
