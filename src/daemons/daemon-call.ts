/** One call of a daemon or a timer, and the writing of what came of it. */

import { KopfError } from '../errors.ts'
import { createConditions } from '../handlers/args/conditions.ts'
import { attemptHandler } from '../handlers/invoke.ts'
import { isAbort, type Outcome } from '../handlers/outcomes.ts'
import { type CollectedPatch, checkResult, collectHandlerPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import { createPatch, type Patch } from '../patching/patch.ts'
import { monotonicNow } from '../util/async/clock.ts'
import type { Logger } from '../util/log/log.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import type { DaemonPoolOptions } from './daemon-pool.ts'
import type { DaemonTask } from './daemon-task.ts'
import type { Stopper } from './stopped.ts'

/** It is over only when what it wants is written: the object must not go before. */
export async function callDaemon<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<Outcome> {
  const reserved = host.reserve(task.owner, task.handler)
  if (reserved === undefined) return callDaemonNow(host, task)
  const release = await reserved
  // It may have been stopped while it waited.
  if (!task.stopped.isSet()) return callDaemonNow(host, task).finally(release)
  release()
  return { type: 'done', result: undefined }
}

async function callDaemonNow<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<Outcome> {
  const { clock } = host
  const { handler, owner } = task
  const logger = host.loggerOf(owner)
  const patch = createPatch<KubeObject>()
  task.started ??= { atMs: clock.now(), steadyMs: monotonicNow(clock) }
  const { atMs, steadyMs } = task.started
  // All of it happens in this process: when the time of day is set, nothing has been used up.
  const steadyClock = { now: () => atMs + monotonicNow(clock) - steadyMs }
  const outcome = await attemptHandler(
    { clock: steadyClock, logger, watch: host.watchOf(handler), defaultBackoffMs: host.defaultBackoffMs() },
    handler,
    { startedMs: atMs, retries: task.retries },
    {
      args: (retryArgs) => argsOf(host, task, { logger, patch, rest: { ...retryArgs, param: handler.param } }),
      finish: (result) => checkResult(handler, patch, result),
      isInterruption: (error) => task.stopped.isSet() && isAbort(error),
    },
  )
  const collected: CollectedPatch = { merge: {}, fns: [] }
  collectHandlerPatch(collected, { handler, patch, outcome })
  if (Object.keys(collected.merge).length > 0 || collected.fns.length > 0) await host.write(owner, handler, collected)
  return outcome
}

/**
 * The signal is made when it is asked for: with tens of thousands of daemons, what nobody uses is too dear. One getter for all
 * of them: with one of its own, each object of arguments would be a dictionary, and two kilobytes larger.
 */
const signal: PropertyDescriptor = {
  enumerable: true,
  get(this: { readonly stopped: Stopper }) {
    return this.stopped.cancellation
  },
}

function argsOf<O>(
  host: DaemonPoolOptions<O>,
  task: DaemonTask<O>,
  { logger, patch, rest }: { readonly logger: Logger; readonly patch: Patch<KubeObject>; readonly rest: object },
): object {
  const { handler, owner, stopped } = task
  const given = host.argsOf(owner, handler, logger) as { readonly body: KubeObject }
  const conditions = createConditions({ patch, body: () => given.body, clock: host.clock, handler })
  return Object.defineProperty(Object.assign(given, rest, { patch, conditions, stopped }), 'signal', signal)
}

/** How long to wait before the first call of a daemon or a timer; a function of the user is asked for each object. */

/** In milliseconds. Throws what the function throws, and where its answer will not do. */
export function initialDelayOf<O>(host: DaemonPoolOptions<O>, { handler, owner }: DaemonTask<O>): number {
  const { initialDelay } = handler.background!
  if (typeof initialDelay === 'number') return initialDelay
  const args = host.argsOf(owner, handler, host.loggerOf(owner))
  const answer = (initialDelay as (args: object) => unknown)(args)
  if (answer instanceof Promise) {
    // Nobody waits for it; its failure must not end the process.
    answer.catch(() => undefined)
    throw new KopfError(
      'KOPF_DURATION',
      'Cannot use a promise as a delay: it is async, and nobody waits for its answer',
    )
  }
  return toMs(answer as Duration, `the initialDelay of "${handler.id}"`)
}
