/** What the guard thread does about an event loop that has stood still for some time. Pure: loop-guard-thread.ts acts on it. */

export interface LoopState {
  /** How long the event loop has stood still, counted in looks at it: a suspended machine does not count. */
  readonly blockedMs: number
  /** Since the process was asked to stop; undefined before that. */
  readonly sinceStopMs: number | undefined
  /** Signals, without those that repeat another within half a second, as npx does. */
  readonly signals: number
  /** How long a stop waits for a blocked loop; undefined for ever. */
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

/** Below this, a loop is busy and not blocked. */
const busyMs = 1000
const reportAfterMs = 2000
/** An event loop that stood still before the stop was asked for may still come to it: what blocks it may be about to end. */
const minStopMs = 1000

export function decideOnLoop({ blockedMs, sinceStopMs, signals, limitMs, isReported }: LoopState): LoopAction {
  if (blockedMs < busyMs) return { type: 'wait' }
  if (signals > 1) return { type: 'end', reason: 'second-signal' }
  const isTooLong = limitMs !== undefined && blockedMs >= limitMs
  if (sinceStopMs !== undefined && sinceStopMs >= minStopMs && isTooLong) return { type: 'end', reason: 'too-long' }
  return { type: blockedMs >= reportAfterMs && !isReported ? 'report' : 'wait' }
}
