/**
 * Decides whether a candidate waits for the Lease, takes it or creates it, from the observed records and the candidate's own monotonic clock. Pure.
 * Called by candidate.ts. A wrong decision cannot make two leaders: every write names the resource version that was observed, so it conflicts.
 */
import { isSameRecord, type LeaseRecord } from './lease.ts'

/** The last observed state of the Lease. */
export interface LeaseObservation {
  readonly exists: boolean
  /** The record of the Lease, or its last record if the Lease was deleted. Undefined if the Lease was never seen. */
  readonly record: LeaseRecord | undefined
  /** When this state was first observed, by the monotonic clock. */
  readonly sinceMs: number
}

export interface TakeoverInput {
  /** Undefined until the Lease was listed for the first time. */
  readonly observation: LeaseObservation | undefined
  /** By the monotonic clock. */
  readonly nowMs: number
  /** Records that this replica has sent without getting a response. If the Lease has one of them, this replica has written it. */
  readonly attempts: readonly LeaseRecord[]
  /** The duration for a record that has none. */
  readonly leaseDurationMs: number
  /** How often a holder renews the Lease. */
  readonly retryPeriodMs: number
}

export type TakeoverDecision =
  /** Wait for the first list of the Lease. */
  | { readonly type: 'observe' }
  /** Wait until the Lease changes, or until this time. */
  | { readonly type: 'wait'; readonly untilMs: number; readonly holder: string | undefined }
  | { readonly type: 'create' }
  | { readonly type: 'take' }

/**
 * The longest duration of a foreign record that a candidate honours; its own `leaseDurationMs` counts instead where that is longer. Without a
 * limit, a record of 2^31 seconds would leave the operator without a leader for 68 years.
 */
export const maxHonouredMs: number = 600_000

/** How many retry periods a candidate waits before it creates a Lease that it has never seen. */
const createAfterRetryPeriods = 1.2

/**
 * A deleted Lease counts as held for as long as an existing one, from the moment of its deletion: its holder still leads, and will create the
 * Lease again at the next renewal. A candidate that has never seen the Lease waits for one renewal only, since usually there is no holder.
 */
export function decideTakeover({
  observation,
  nowMs,
  attempts,
  leaseDurationMs,
  retryPeriodMs,
}: TakeoverInput): TakeoverDecision {
  if (observation === undefined) return { type: 'observe' }
  const { record, exists, sinceMs } = observation
  const acquire: TakeoverDecision = { type: exists ? 'take' : 'create' }
  if (record !== undefined && (record.holder === '' || includesRecord(attempts, record))) return acquire
  const honouredMs = Math.min(record?.durationMs ?? leaseDurationMs, Math.max(maxHonouredMs, leaseDurationMs))
  const waitMs = record === undefined ? retryPeriodMs * createAfterRetryPeriods : honouredMs
  const untilMs = sinceMs + waitMs
  return nowMs < untilMs ? { type: 'wait', untilMs, holder: record?.holder } : acquire
}

/** Compares whole records, not only the holder: two processes may have the same identity. */
function includesRecord(records: readonly LeaseRecord[], record: LeaseRecord): boolean {
  return records.some((one) => isSameRecord(one, record))
}

/**
 * The observation after a new state of the Lease; `record` is undefined if the Lease does not exist. The time restarts if the record has changed,
 * and at the deletion of the Lease, which may have been renewed unnoticed until then. A change of labels does not restart it.
 */
export function observeLease(
  before: LeaseObservation | undefined,
  record: LeaseRecord | undefined,
  nowMs: number,
): LeaseObservation {
  if (record === undefined) {
    return before?.exists === false ? before : { exists: false, record: before?.record, sinceMs: nowMs }
  }
  const isSame = before?.exists && before.record !== undefined && isSameRecord(before.record, record)
  return { exists: true, record, sinceMs: isSame ? before.sinceMs : nowMs }
}
