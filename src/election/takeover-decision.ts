/**
 * What a stand-by does about the Lease, from what it has seen of it and when, by its own clock that nobody sets. Pure: the whole
 * of who may take it, and when, is here. What is written is safe beyond that, as every write names the version that was seen.
 */
import { isSameRecord, type LeaseRecord } from './lease.ts'

/** What was seen last. */
export interface LeaseObservation {
  readonly isThere: boolean
  /** As it was when it was there last; undefined where it never was. */
  readonly record: LeaseRecord | undefined
  /** Since when we have known it so, or not there. */
  readonly sinceMs: number
}

export interface TakeoverInput {
  /** Undefined until somebody has looked. */
  readonly sight: LeaseObservation | undefined
  readonly nowMs: number
  /** What we wrote ourselves and have no answer to: if it is there, it is ours. */
  readonly attempts: readonly LeaseRecord[]
  /** For a holder that does not say how long it is to be believed. */
  readonly leaseDurationMs: number
  /** How often a holder renews it. */
  readonly retryPeriodMs: number
}

export type TakeoverDecision =
  | { readonly type: 'look' }
  /** Until something is seen, or this moment comes. */
  | { readonly type: 'wait'; readonly untilMs: number; readonly holder: string | undefined }
  | { readonly type: 'create' }
  | { readonly type: 'take' }

/**
 * A holder is believed for the time that its record asks for, as client-go does it, since it may lead for nearly so long; but for no
 * more than this, or our own duration where that is longer. A record of 2^31 seconds would otherwise leave the operator without a
 * leader for 68 years.
 */
export const maxBelievedMs: number = 600_000

/** A little more than the pause between two renewals. */
const patience = 1.2

/**
 * A Lease that was deleted under its holder binds us for as long as one that is there, from when we have seen that it is gone: the
 * holder does not know yet, and will put it back. One who has never seen it cannot know whether there is a holder: it waits
 * until one that is well would have put it back, and no longer, since mostly there is none.
 */
export function decideTakeover({
  sight,
  nowMs,
  attempts,
  leaseDurationMs,
  retryPeriodMs,
}: TakeoverInput): TakeoverDecision {
  if (sight === undefined) return { type: 'look' }
  const { record, isThere, sinceMs } = sight
  const freely: TakeoverDecision = { type: isThere ? 'take' : 'create' }
  if (record !== undefined && (record.holder === '' || isAmong(attempts, record))) return freely
  const believedMs = Math.min(record?.durationMs ?? leaseDurationMs, Math.max(maxBelievedMs, leaseDurationMs))
  const boundMs = record === undefined ? retryPeriodMs * patience : believedMs
  const untilMs = sinceMs + boundMs
  return nowMs < untilMs ? { type: 'wait', untilMs, holder: record?.holder } : freely
}

/** By all that it says, not by the name in it: two processes may have been given the same. */
function isAmong(records: readonly LeaseRecord[], record: LeaseRecord): boolean {
  return records.some((one) => isSameRecord(one, record))
}

/**
 * What is seen now, after what was seen before. Only a change of what the record says begins its time anew; and its end, since
 * it may have been renewed, unseen, until then.
 */
export function observeLease(
  before: LeaseObservation | undefined,
  record: LeaseRecord | undefined,
  nowMs: number,
): LeaseObservation {
  if (record === undefined) {
    return before?.isThere === false ? before : { isThere: false, record: before?.record, sinceMs: nowMs }
  }
  const isSame = before?.isThere && before.record !== undefined && isSameRecord(before.record, record)
  return { isThere: true, record, sinceMs: isSame ? before.sinceMs : nowMs }
}
