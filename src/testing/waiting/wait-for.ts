/** Waiting for something to become so on a cluster, with limits, and saying what was waited for when it does not. */
import { KopfError } from '../../errors.ts'
import { monotonicMs } from '../../util/async/clock.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'
import type { ClusterBackend } from '../cluster/backend.ts'

/** How long a test waits. */
export interface WaitOptions {
  /** By the clock of the cluster. Default: an hour, which takes no time where it is skipped; a minute on a real cluster. */
  readonly timeout?: Duration
  /**
   * By the clock of this machine, where time is skipped: handlers may wait for the real world. Default: 4 seconds; five times as
   * long where no handler is busy, for slow machines.
   */
  readonly patience?: Duration
}

/** Real time that a wait goes on after the time of the cluster is up: work of threads and sockets may still be under way, however fast time was skipped. */
const graceMs = 1000

/** Where no handler is busy, there is nothing to lose patience with but a slow machine. */
const slowness = 5

export interface Wait<T> {
  /** What it has come to; undefined as long as it is not so. */
  readonly look: () => Promise<T | undefined>
  /** Time is to be looked at then, whoever sleeps for longer. */
  readonly untilMs?: () => number
  /** What was waited for in vain, and what is the case instead. */
  readonly complain: () => string
}

/** Lets things happen, and time pass, until it is so. */
export function waitFor<T>(backend: ClusterBackend, options: WaitOptions, wait: Wait<T>): Promise<T> {
  return backend.waited(async () => {
    const { timeoutMs, patienceMs } = limitsOf(backend, options)
    const endMs = backend.clock.now() + timeoutMs
    const beganMs = monotonicMs()
    // Whether everything that could happen had happened before the last look: only then may time pass.
    let isIdle = false
    let endedMs: number | undefined
    for (;;) {
      const found = await wait.look()
      if (found !== undefined) return found
      const nowMs = monotonicMs()
      const tookMs = nowMs - beganMs
      if (backend.clock.now() >= endMs) endedMs ??= nowMs
      const isOver = endedMs !== undefined && nowMs - endedMs >= Math.min(graceMs, patienceMs)
      const isEnough = tookMs >= patienceMs * (backend.clock.occupied('call') > 0 ? 1 : slowness)
      if (isOver || isEnough) throw timedOut(wait.complain(), isOver ? timeoutMs : undefined, tookMs)
      isIdle = await backend.pass(Math.min(endMs, wait.untilMs?.() ?? endMs), isIdle)
    }
  })
}

function limitsOf(backend: ClusterBackend, { timeout, patience }: WaitOptions) {
  return {
    timeoutMs: timeout === undefined ? backend.timeoutMs : toMs(timeout, '`timeout`'),
    patienceMs: patience === undefined ? backend.patienceMs : toMs(patience, '`patience`'),
  }
}

/** The error of a wait that has ended by the clock of the cluster, after `timeoutMs`, or else by that of this machine. */
export function timedOut(complaint: string, timeoutMs: number | undefined, tookMs = 0): KopfError {
  const limit =
    timeoutMs === undefined
      ? `${(tookMs / 1000).toFixed(1)} seconds of real time (raise \`patience\` if handlers wait for something real)`
      : `${timeoutMs / 1000} seconds of the cluster's time`
  return new KopfError('KOPF_CLUSTER_WAIT', `Cannot wait any longer, after ${limit}: ${complaint}`)
}
