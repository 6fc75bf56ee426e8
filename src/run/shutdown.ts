/**
 * Stops an operator: closes the streams, lets daemons and handlers finish, writes their outcomes and the last Kubernetes events, and calls the cleanup handlers.
 * Each step has its own time limit (util/stopping-times.ts). Called by run.ts.
 */

import type { StopLimit } from '../handlers/watchdog.ts'
import type { Endpoint } from '../serving/endpoint.ts'
import { isAssigned } from '../settings/settings.ts'
import { createSharedController } from '../util/async/shared-signal.ts'
import { withTimeout } from '../util/async/with-timeout.ts'
import { handlersMsWithin, stoppingMs } from '../util/stopping-times.ts'
import { toMs } from '../util/text/duration.ts'
import type { Assembly, Base, Lifetimes, OperatorDefinition } from './bootstrap.ts'
import type { RunningMetrics } from './metrics.ts'

export interface ShutdownOptions {
  readonly base: Base
  /** Undefined if the operator never had a connection. */
  readonly assembly: Assembly | undefined
  readonly lifetimes: Lifetimes
  readonly definition: OperatorDefinition
  /** Tells a user at a terminal how to end the process at once. */
  readonly hint: string | undefined
  readonly posting: Promise<void> | undefined
  readonly endpoints: readonly Endpoint[]
  readonly metrics: RunningMetrics | undefined
}

export async function shutDown(options: ShutdownOptions): Promise<void> {
  const { base, assembly, lifetimes } = options
  const { clock, leadership } = base
  // A replica that has lost the Lease must stop at once: another replica may already be the leader.
  const hasTime = !leadership.lost.aborted
  base.health.phase = 'stopping'
  assembly?.context.queue.close()
  const streams = lifetimes.tasks.stop()
  const daemons = assembly?.daemons.stopAll()
  await stopHandlers(options, hasTime)
  await stopDaemons(options, daemons, hasTime)
  await withTimeout(clock, hasTime ? stoppingMs.leavePeering : 0, assembly?.peerings.leave())
  await withTimeout(clock, hasTime ? stoppingMs.lastEvents : 0, assembly?.poster.drain())
  await streams
  await closeAdmission(options)
  lifetimes.writes.abort()
  const isIdle = (assembly?.context.queue.size ?? 0) + (assembly?.daemons.size ?? 0) === 0
  await leadership.end({ isIdle })
  await cleanUp(options)
}

async function stopHandlers(
  { base, assembly, lifetimes, definition, hint }: ShutdownOptions,
  hasTime: boolean,
): Promise<void> {
  const { clock, watchdog, logger } = base
  const limit = hasTime ? limitOf(definition) : { limitMs: 0, origin: 'this replica is not the leader any more' }
  watchdog.reportWaiting(logger, limit, hint)
  await withTimeout(clock, limit.limitMs, untilIdle(assembly))
  watchdog.reportCut(limit)
  lifetimes.handlers.abort(new Error('The operator is stopping'))
  await withTimeout(clock, stoppingMs.lastWrites, untilIdle(assembly))
}

/** The time for handlers: the setting, or what the last steps leave of a known grace period. An assigned setting can only shorten that. */
function limitOf({ settings, registry }: OperatorDefinition): StopLimit {
  const { exitTimeout } = settings.queueing
  const { gracePeriod } = settings.process
  const exitLimit: StopLimit = { limitMs: toMs(exitTimeout), origin: 'settings.queueing.exitTimeout' }
  if (gracePeriod === null) return exitLimit
  const graceMs = toMs(gracePeriod)
  const limitMs = handlersMsWithin(graceMs, { hasWebhooks: registry.webhookHandlers.length > 0 })
  if (isAssigned(settings.queueing, 'exitTimeout') && exitLimit.limitMs <= limitMs) return exitLimit
  return { limitMs, origin: `the grace period is ${graceMs / 1000} seconds` }
}

/** Resolves when no handler or indexing function runs for any object. */
async function untilIdle(assembly: Assembly | undefined): Promise<void> {
  await Promise.all([assembly?.context.queue.idle(), assembly?.orchestrator.indexed()])
}

async function stopDaemons(
  { base: { clock, logger }, assembly, hint }: ShutdownOptions,
  daemons: Promise<void> | undefined,
  hasTime: boolean,
): Promise<void> {
  const left = assembly?.daemons.size ?? 0
  if (left > 0) {
    const tasks = left === 1 ? '1 daemon or timer' : `${left} daemons and timers`
    logger.info(`Waiting for ${tasks} to end${hint === undefined ? '' : `; ${hint}`}.`)
  }
  await (hasTime ? daemons : withTimeout(clock, stoppingMs.lastWrites, daemons))
}

async function closeAdmission({ base, assembly, lifetimes }: ShutdownOptions): Promise<void> {
  const { clock, leadership, logger } = base
  const admission = assembly?.admission
  const last = leadership.isLeading ? admission?.withdraw(lifetimes.end.signal) : admission?.leave()
  await withTimeout(clock, stoppingMs.withdrawWebhooks, last)
  await withTimeout(clock, stoppingMs.lastReviews, admission?.close())
  if (admission?.isServing) {
    logger.warn(
      'The webhook server has not ended, although its signal is aborted: the operator does not wait for it any more.',
    )
  }
}

async function cleanUp({ base, assembly, lifetimes, posting, endpoints, metrics }: ShutdownOptions): Promise<void> {
  base.workers.abandonCalls()
  try {
    await base.activities.run('cleanup', createSharedController().signal)
  } finally {
    const busy = await base.workers.close()
    if (busy > 0) base.logger.warn(`Worker threads that were still busy were terminated: ${busy}.`)
    assembly?.orchestrator.clearIndices()
    lifetimes.end.abort()
    await posting
    await base.transport.close()
    await Promise.all(endpoints.map((endpoint) => endpoint.close()))
    metrics?.stop()
  }
}
