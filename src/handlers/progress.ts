/** How far one handler has come with one object: what is stored of it, and what follows from an outcome. Pure. */

import type { HandlerReason } from '../causation/cause.ts'
import type { ProgressRecord } from '../persistence/progress-storage.ts'
import { describeError } from '../util/log/describe-error.ts'
import { formatTimestamp, parseTimestamp } from '../util/text/timestamps.ts'
import type { Outcome } from './outcomes.ts'

export interface Progress {
  readonly startedMs: number
  /** Unfinished: when it finished for the state in `seen`, of which it is to be told the rest. */
  readonly stoppedMs?: number | undefined
  /** Not to be called before. */
  readonly delayedMs?: number | undefined
  /** What it is done for; undefined in records of old versions, which stand for anything. */
  readonly purpose: HandlerReason | undefined
  readonly retries: number
  /** Attempts among them that repeated another one before its delay had passed, and asked for a retry again: `retries` is not a limit for them. */
  readonly repeats?: number | undefined
  readonly success: boolean
  readonly failure: boolean
  readonly message?: string | undefined
  /** The ids of all its sub-handlers, of any depth. */
  readonly subrefs: readonly string[]
  /** The digest of the essence on which it finished last. Set and unfinished: what changed since is still to be told. */
  readonly seen?: string | undefined
  /** Of a step: the text of its result. */
  readonly result?: string | undefined
  /** Of a step: by which the operator knows that the result is its own. See step-signatures.ts. */
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

export function withOutcome(
  progress: Progress,
  outcome: Outcome,
  {
    nowMs,
    isRepeated = false,
    seen,
    subrefs,
  }: {
    readonly nowMs: number
    /** The attempt repeated the last one before its delay had passed. */
    readonly isRepeated?: boolean
    readonly seen: string | undefined
    readonly subrefs: Iterable<string>
  },
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

/** Whatever is missing or odd in a record counts as not there: a stranger may have written it. */
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
