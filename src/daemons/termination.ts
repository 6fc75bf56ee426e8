/**
 * Terminates a running daemon or timer in stages: the stop flag is set, then `cancellationBackoff` passes, then the task is cancelled, and after
 * `cancellationTimeout` it is abandoned. Without a timeout, the task is waited for as long as the operator runs. Called by daemon-pool.ts.
 */
import { titleOf } from '../handlers/handler.ts'
import { nextTurn, noLongerNeeded } from '../util/async/clock.ts'
import { toMs } from '../util/text/duration.ts'
import type { DaemonPoolOptions } from './daemon-pool.ts'
import type { DaemonTask } from './daemon-task.ts'

/** When the operator stops, a task without a timeout of its own is cancelled after this time. */
const exitGraceMs = 5000
/** A task that was cancelled by `exitGraceMs` is abandoned after this time. */
const exitCancelMs = 1000

/** The lower limit of `cancellationPolling`: a polling interval of 0 must not become a busy loop. */
const minPollingMs = 100

/** Resolves when the task has ended or is abandoned. `exiting` is aborted when the operator stops. */
export async function terminate<O>(
  host: DaemonPoolOptions<O>,
  task: DaemonTask<O>,
  exiting: AbortSignal,
): Promise<void> {
  const {
    backoffMs,
    timeoutMs,
    pollingMs: requestedMs = toMs(host.settings.cancellationPolling),
  } = task.handler.background.cancellation
  const pollingMs = Math.max(requestedMs, minPollingMs)
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
  if (!(await endsWithin(host, task, exitGraceMs))) await cancel(host, task, exitCancelMs)
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

/** Whether the task ends right after the stop signal, as most do. Waited for once per task; the result is shared. */
export function exitsInstantly<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<boolean> {
  task.instantExit ??= allowInstantExit(host, task)
  return task.instantExit
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
