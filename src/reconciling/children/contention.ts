/**
 * Slows down two clients that overwrite each other's changes to a child. The operator restores a child at once for the first few
 * times; then it waits twice as long before each further restore. One immutable record per child. Called by sync.ts. Pure.
 */

export interface Contention {
  /** How often another client changed the child within `quietMs` after the operator restored it. */
  readonly times: number
  /** When the operator last restored the child; by the monotonic clock. */
  readonly lastRestoreMs: number
  /** The operator does not restore the child before this time; undefined while no pause is under way. */
  readonly pausedUntilMs: number | undefined
  /** Names both writers and the fields they write, for the log and the condition. */
  readonly message: string
}

export interface ContentionReaction {
  readonly contention: Contention
  /** How long to wait before the child is restored; 0 to restore it now. */
  readonly waitMs: number
  /** The limit of immediate restores is exceeded for the first time: the caller logs one warning. */
  readonly isNew: boolean
}

/** A child is restored at once this many times: a few changes by hand are not contention. */
const maxImmediateRestores = 3
const firstDelayMs = 1000
const maxDelayMs = 300_000
/** Contention is over after this time without a change. Longer than `maxDelayMs`, so that a pause of the operator does not end it. */
const quietMs = 600_000

/** Called when another client has changed or deleted the child. */
export function reactToContention(before: Contention | undefined, message: string, nowMs: number): ContentionReaction {
  const contention = before === undefined || isOver(before, nowMs) ? undefined : before
  if (contention?.pausedUntilMs !== undefined) {
    const waitMs = Math.max(0, contention.pausedUntilMs - nowMs)
    return {
      contention: waitMs > 0 ? contention : recordRestore({ ...contention, message }, nowMs),
      waitMs,
      isNew: false,
    }
  }
  const times = (contention?.times ?? 0) + 1
  const isNew = times === maxImmediateRestores + 1
  if (times <= maxImmediateRestores) return { contention: recordRestore({ times, message }, nowMs), waitMs: 0, isNew }
  const waitMs = Math.min(maxDelayMs, firstDelayMs * 2 ** (times - maxImmediateRestores - 1))
  const lastRestoreMs = contention?.lastRestoreMs ?? nowMs
  return { contention: { times, message, lastRestoreMs, pausedUntilMs: nowMs + waitMs }, waitMs, isNew }
}

function recordRestore({ times, message }: Pick<Contention, 'times' | 'message'>, nowMs: number): Contention {
  return { times, message, lastRestoreMs: nowMs, pausedUntilMs: undefined }
}

/** Whether the changes are frequent enough to be reported, unlike a few changes by hand. */
export function isContended({ times }: Contention): boolean {
  return times > maxImmediateRestores
}

export function isOver({ lastRestoreMs, pausedUntilMs }: Contention, nowMs: number): boolean {
  return pausedUntilMs === undefined && nowMs >= lastRestoreMs + quietMs
}

/** The time until the contention is over if the child does not change any more. */
export function remainingQuietMs({ lastRestoreMs }: Contention, nowMs: number): number {
  return Math.max(0, lastRestoreMs + quietMs - nowMs)
}
