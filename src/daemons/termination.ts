/**
 * How one that is asked to stop is made to, step by step: it is asked, given time, cancelled, given time again, and left to
 * itself. Without a limit it is waited for, for as long as the operator runs.
 */
import { titleOf } from '../handlers/handler.ts'
import { nextTurn, noLongerNeeded } from '../util/async/clock.ts'
import { toMs } from '../util/text/duration.ts'
import type { DaemonPoolOptions } from './daemon-pool.ts'
import type { DaemonTask } from './daemon-task.ts'

/** When the operator stops: those without limits of their own get so long, and then so long after being cancelled. */
const hungMs = 5000
const lastMs = 1000

/** Nobody reads faster than that; and none at all must not become a busy loop. */
const minPollingMs = 100

/** Resolves when it has ended, or is abandoned. `exiting` is aborted when the operator stops. */
export async function terminate<O>(
  host: DaemonPoolOptions<O>,
  task: DaemonTask<O>,
  exiting: AbortSignal,
): Promise<void> {
  const {
    backoffMs,
    timeoutMs,
    pollingMs: wantedMs = toMs(host.settings.cancellationPolling),
  } = task.handler.background.cancellation
  const pollingMs = Math.max(wantedMs, minPollingMs)
  const logger = host.loggerOf(task.owner)
  const title = titleOf(task.handler)
  if (await exitsInstantly(host, task)) return
  if (backoffMs !== undefined) {
    logger.debug(`${title} is signalled to exit gracefully.`)
    if (await endsWithin(host, task, backoffMs)) return
  }
  if (timeoutMs !== undefined) return cancel(host, task, timeoutMs)
  while (!exiting.aborted) {
    logger.debug(`${title} is still exiting. The next check is in ${pollingMs / 1000} seconds.`)
    if (await endsWithin(host, task, pollingMs, exiting)) return
  }
  if (!(await endsWithin(host, task, hungMs))) await cancel(host, task, lastMs)
}

async function cancel<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>, timeoutMs: number): Promise<void> {
  const logger = host.loggerOf(task.owner)
  const title = titleOf(task.handler)
  logger.debug(`${title} is signalled to exit by force.`)
  task.stopped.cancel()
  if (await endsWithin(host, task, timeoutMs)) return
  logger.warn(`${title} did not exit in time. Leaving it orphaned.`)
  task.isAbandoned = true
}

/** Most need a moment only: that does not count as waiting. There is one such moment, right after it was asked. */
export function exitsInstantly<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<boolean> {
  task.moment ??= allowInstantExit(host, task)
  return task.moment
}

async function allowInstantExit<O>({ clock, settings }: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<boolean> {
  const { instantExitTimeout, instantExitZeroTimeCycles } = settings
  if (instantExitTimeout !== null) return endsWithin({ clock }, task, toMs(instantExitTimeout))
  for (let turns = 0; turns < (instantExitZeroTimeCycles ?? 0) && !task.hasEnded; turns += 1) await nextTurn()
  return task.hasEnded
}

async function endsWithin<O>(
  { clock }: Pick<DaemonPoolOptions<O>, 'clock'>,
  task: DaemonTask<O>,
  limitMs: number,
  interrupt?: AbortSignal,
): Promise<boolean> {
  const ended = new AbortController()
  const signal = interrupt === undefined ? ended.signal : AbortSignal.any([ended.signal, interrupt])
  const timer = clock.sleep(limitMs, signal).catch(() => {})
  await Promise.race([task.ended(), timer])
  ended.abort(noLongerNeeded)
  return task.hasEnded
}
