/**
 * How one that is asked to stop is made to, step by step: it is asked, given time, cancelled, given time again, and left to
 * itself. Without a limit it is waited for, for as long as the operator runs.
 */
import { titleOf } from '../../core/handling/kinds.ts'
import { nextTurn, noLongerNeeded } from '../../util/clock.ts'
import { toMs } from '../../util/duration.ts'
import type { Host } from './host.ts'
import type { Task } from './task.ts'

/** When the operator stops: those without limits of their own get so long, and then so long after being cancelled. */
const hungMs = 5000
const lastMs = 1000

/** Nobody reads faster than that; and none at all must not become a busy loop. */
const shortestPollingMs = 100

/** Resolves when it has ended, or is abandoned. `exiting` is aborted when the operator stops. */
export async function terminate<O>(host: Host<O>, task: Task<O>, exiting: AbortSignal): Promise<void> {
  const {
    backoffMs,
    timeoutMs,
    pollingMs: wantedMs = toMs(host.settings.cancellationPolling),
  } = task.handler.background!.cancellation
  const pollingMs = Math.max(wantedMs, shortestPollingMs)
  const logger = host.loggerOf(task.owner)
  const title = titleOf(task.handler)
  if (await endsInstantly(host, task)) return
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

async function cancel<O>(host: Host<O>, task: Task<O>, timeoutMs: number): Promise<void> {
  const logger = host.loggerOf(task.owner)
  const title = titleOf(task.handler)
  logger.debug(`${title} is signalled to exit by force.`)
  task.stopped.cancel()
  if (await endsWithin(host, task, timeoutMs)) return
  logger.warn(`${title} did not exit in time. Leaving it orphaned.`)
  task.isAbandoned = true
}

/** Most need a moment only: that does not count as waiting. There is one such moment, right after it was asked. */
export function endsInstantly<O>(host: Host<O>, task: Task<O>): Promise<boolean> {
  task.moment ??= giveMoment(host, task)
  return task.moment
}

async function giveMoment<O>({ clock, settings }: Host<O>, task: Task<O>): Promise<boolean> {
  const { instantExitTimeout, instantExitZeroTimeCycles } = settings
  if (instantExitTimeout !== null) return endsWithin({ clock }, task, toMs(instantExitTimeout))
  for (let turns = 0; turns < (instantExitZeroTimeCycles ?? 0) && !task.hasEnded; turns += 1) await nextTurn()
  return task.hasEnded
}

async function endsWithin<O>(
  { clock }: Pick<Host<O>, 'clock'>,
  task: Task<O>,
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
