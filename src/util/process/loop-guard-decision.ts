/** Decides what the guard thread does about a blocked event loop. Pure, and apart from loop-guard-thread.ts, which runs on import. */

export interface LoopState {
  /** How long the event loop has been blocked, counted in missed beats, so that the sleep of a suspended machine does not count. */
  readonly blockedMs: number
  /** Time since the stop was requested; undefined before. */
  readonly sinceStopMs: number | undefined
  /** Number of signals, without repetitions within half a second, as sent by npx. */
  readonly signals: number
  /** How long a stop waits for a blocked loop; undefined for no limit. */
  readonly limitMs: number | undefined
  /** Whether this block was reported. */
  readonly isReported: boolean
}

export type LoopAction =
  | { readonly type: 'wait' }
  /** Log which handler blocks. */
  | { readonly type: 'report' }
  /** End the process: a stop was requested, and the blocked loop cannot carry it out. */
  | { readonly type: 'end'; readonly reason: 'too-long' | 'second-signal' }

/** Shorter blocks are ignored: the loop is busy. */
const busyMs = 1000
const reportAfterMs = 2000
/** Minimum time after the stop request, during which a loop that was blocked before may resume and stop by itself. */
const minStopMs = 1000

export function decideOnLoop({ blockedMs, sinceStopMs, signals, limitMs, isReported }: LoopState): LoopAction {
  if (blockedMs < busyMs) return { type: 'wait' }
  if (signals > 1) return { type: 'end', reason: 'second-signal' }
  const isTooLong = limitMs !== undefined && blockedMs >= limitMs
  if (sinceStopMs !== undefined && sinceStopMs >= minStopMs && isTooLong) return { type: 'end', reason: 'too-long' }
  return { type: blockedMs >= reportAfterMs && !isReported ? 'report' : 'wait' }
}
