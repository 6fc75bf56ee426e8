/**
 * Polls a condition on a test cluster while time passes, with limits in cluster time and in real time. Used by all waits of the
 * test kit.
 */
import { KopfError } from '../../errors.ts'
import { monotonicMs } from '../../util/async/clock.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'
import type { ClusterBackend } from '../cluster/backend.ts'
import { EndlessWrites } from '../cluster/write-counts.ts'

/** Time limits of a wait. */
export interface WaitOptions {
  /**
   * Limit in the time of the cluster. Default: one hour, which takes no real time on the skipping clock; 4 seconds with `clock:
   * 'real'`; one minute on a real cluster.
   */
  readonly timeout?: Duration
  /**
   * Limit in real time on the skipping clock, for handlers that wait for something outside the cluster. Default: 4 seconds in
   * which a handler runs without returning, and five times as long in all. No limit with `clock: 'real'` and on a real cluster.
   */
  readonly patience?: Duration
}

/** Real time that a wait continues after the time of the cluster is over: work of threads and sockets may still be in progress, however fast time was skipped. */
const graceMs = 1000

/** Handlers that return may be called often, and the machine may be slow: a wait as a whole may take this many times as long. */
const idleFactor = 5

export interface Wait<T> {
  /** Returns the result of the wait; undefined while the condition is not met. */
  readonly check: () => Promise<T | undefined>
  /** The next time at which `check` may succeed without another event. Time is not skipped beyond it. */
  readonly untilMs?: () => number
  /** Describes the unmet condition and the actual state, for the error message. */
  readonly describeProblem: () => string
}

/** Lets events happen and time pass until `check` returns a value. Rejects with `KOPF_CLUSTER_WAIT` after the limits. */
export function waitFor<T>(backend: ClusterBackend, options: WaitOptions, wait: Wait<T>): Promise<T> {
  return backend.whileWaiting(async () => {
    const { timeoutMs, patienceMs } = limitsOf(backend, options)
    const endMs = backend.clock.now() + timeoutMs
    const startedMs = monotonicMs()
    // Whether everything that could happen had happened before the last check: only then may time pass.
    let isIdle = false
    let endedMs: number | undefined
    let endless: EndlessWrites | undefined
    for (;;) {
      const found = await wait.check()
      if (found !== undefined) return found
      if (endless !== undefined) throw outOfLimit(endless.limit, wait.describeProblem())
      const nowMs = monotonicMs()
      const tookMs = nowMs - startedMs
      if (backend.clock.now() >= endMs) endedMs ??= nowMs
      const isOver = endedMs !== undefined && nowMs - endedMs >= Math.min(graceMs, patienceMs)
      const calledMs = Math.min(tookMs, backend.clock.callingMs)
      const isOutOfPatience = calledMs >= patienceMs || tookMs >= patienceMs * idleFactor
      if (isOver || isOutOfPatience) throw timedOut(wait.describeProblem(), isOver ? timeoutMs : undefined, tookMs)
      try {
        isIdle = await backend.pass(Math.min(endMs, wait.untilMs?.() ?? endMs), isIdle)
      } catch (error) {
        if (!(error instanceof EndlessWrites)) throw error
        // The last state may be the expected one.
        endless = error
      }
    }
  })
}

function limitsOf(backend: ClusterBackend, { timeout, patience }: WaitOptions) {
  return {
    timeoutMs: timeout === undefined ? backend.timeoutMs : toMs(timeout, '`timeout`'),
    patienceMs: patience === undefined ? backend.patienceMs : toMs(patience, '`patience`'),
  }
}

/**
 * The error of a wait that has reached its limit of cluster time (`timeoutMs`), or, if that is undefined, its limit of real time.
 */
export function timedOut(problem: string, timeoutMs: number | undefined, tookMs = 0): KopfError {
  const limit =
    timeoutMs === undefined
      ? `${(tookMs / 1000).toFixed(1)} seconds of real time (raise \`patience\` if handlers wait for something real)`
      : `${timeoutMs / 1000} seconds of the cluster's time`
  return outOfLimit(limit, problem)
}

function outOfLimit(limit: string, problem: string): KopfError {
  return new KopfError('KOPF_CLUSTER_WAIT', `Cannot wait any longer, after ${limit}: ${problem}`)
}
