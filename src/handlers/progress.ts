/** The progress of one handler with one object: as a value, after an outcome, and as a stored record. Pure. */

import type { HandlerReason } from '../causation/cause.ts'
import type { ProgressRecord } from '../persistence/progress-storage.ts'
import { describeError } from '../util/log/describe-error.ts'
import { formatTimestamp, parseTimestamp } from '../util/text/timestamps.ts'
import type { Outcome } from './outcomes.ts'

export interface Progress {
  readonly startedMs: number
  /** When the handler finished; for an unfinished handler with `seen`, when it finished on that state. */
  readonly stoppedMs?: number | undefined
  /** The earliest time of the next attempt. */
  readonly delayedMs?: number | undefined
  /** The reason of the handling. Undefined in records of old versions of Kopf, where it can be any. */
  readonly purpose: HandlerReason | undefined
  readonly retries: number
  /** Attempts that were repeated before their delay had passed and asked for a retry again: the option `retries` does not count them. */
  readonly repeats?: number | undefined
  readonly success: boolean
  readonly failure: boolean
  readonly message?: string | undefined
  /** The ids of all sub-handlers, of any depth, and of steps. */
  readonly subrefs: readonly string[]
  /** The digest of the essence on which the handler finished last. If the handler is unfinished, it is called for the changes since then. */
  readonly seen?: string | undefined
  /** For a step: its result, as JSON. */
  readonly result?: string | undefined
  /** For a step: proves that this operator has stored the result (steps/step-signatures.ts). */
  readonly signature?: string | undefined
}

export function startProgress(purpose: HandlerReason, nowMs: number, seen?: string): Progress {
  return { startedMs: nowMs, purpose, retries: 0, success: false, failure: false, subrefs: [], seen }
}

export function isFinished({ success, failure }: Progress): boolean {
  return success || failure
}

export function isDue(progress: Progress, nowMs: number): boolean {
  return !isFinished(progress) && (progress.delayedMs === undefined || progress.delayedMs <= nowMs)
}

/** The facts about one attempt that the next progress depends on. */
export interface AttemptFacts {
  readonly nowMs: number
  /** The attempt repeated the last one before its delay had passed. */
  readonly isRepeated?: boolean
  /** The digest of the essence that the handler has seen, if it is known yet. */
  readonly seen?: string | undefined
  /** Ids of sub-handlers and steps that the attempt has added. */
  readonly subrefs: Iterable<string>
}

/** The progress after one attempt. */
export function nextProgress(
  progress: Progress,
  outcome: Outcome,
  { nowMs, isRepeated = false, seen, subrefs }: AttemptFacts,
): Progress {
  const isFinal = outcome.type !== 'retry'
  return {
    startedMs: progress.startedMs,
    stoppedMs: isFinal ? nowMs : progress.stoppedMs,
    delayedMs: outcome.type === 'retry' ? nowMs + outcome.delayMs : undefined,
    purpose: progress.purpose,
    retries: progress.retries + 1,
    repeats: isRepeated && !isFinal ? (progress.repeats ?? 0) + 1 : progress.repeats,
    success: outcome.type === 'done',
    failure: outcome.type === 'failed',
    message: outcome.type === 'done' ? undefined : describeError(outcome.error),
    subrefs: [...new Set([...progress.subrefs, ...subrefs])].sort(),
    seen: isFinal ? seen : progress.seen,
  }
}

export function toRecord(progress: Progress): ProgressRecord {
  const { startedMs, stoppedMs, delayedMs, purpose, retries, success, failure, message, subrefs } = progress
  const { seen, result, signature, repeats } = progress
  return {
    started: formatTimestamp(startedMs),
    stopped: stoppedMs === undefined ? undefined : formatTimestamp(stoppedMs),
    delayed: delayedMs === undefined ? undefined : formatTimestamp(delayedMs),
    purpose,
    retries,
    repeats,
    success,
    failure,
    message,
    subrefs: subrefs.length === 0 ? undefined : [...subrefs],
    seen,
    result,
    signature,
  }
}

/** Missing and malformed fields count as absent: the author of the object may have written the record. */
export function fromRecord(record: ProgressRecord, nowMs: number): Progress {
  return {
    startedMs: toTime(record.started) ?? nowMs,
    stoppedMs: toTime(record.stopped),
    delayedMs: toTime(record.delayed),
    purpose: isReason(record.purpose) ? record.purpose : undefined,
    retries: typeof record.retries === 'number' ? record.retries : 0,
    repeats: typeof record.repeats === 'number' ? record.repeats : undefined,
    success: record.success === true,
    failure: record.failure === true,
    message: typeof record.message === 'string' ? record.message : undefined,
    subrefs: Array.isArray(record.subrefs) ? record.subrefs.filter((id) => typeof id === 'string') : [],
    seen: typeof record.seen === 'string' ? record.seen : undefined,
    result: typeof record.result === 'string' ? record.result : undefined,
    signature: typeof record.signature === 'string' ? record.signature : undefined,
  }
}

function toTime(text: unknown): number | undefined {
  return typeof text === 'string' ? parseTimestamp(text) : undefined
}

function isReason(text: unknown): text is HandlerReason {
  return text === 'create' || text === 'update' || text === 'delete' || text === 'resume'
}
