/** One call of a daemon or a timer, and the writing of what came of it. */

import { KopfError } from '../errors.ts'
import { callHandler, type OwnArgs } from '../handlers/invoke.ts'
import { isAbort, type Outcome } from '../handlers/outcomes.ts'
import { type CollectedPatch, collectHandlerPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { lazy } from '../util/lazy.ts'
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
  task.started ??= { atMs: clock.now(), monotonicMs: monotonicNow(clock) }
  const { atMs, monotonicMs } = task.started
  const given = lazy(() => host.argsOf(owner, handler, logger) as { readonly body: KubeObject })
  const { outcome, patch } = await callHandler(
    {
      clock,
      logger,
      watch: host.watchOf(handler),
      defaultBackoffMs: host.defaultBackoffMs(),
      observer: host.observer,
      object: () => host.observedObject(owner),
    },
    handler,
    {
      start: { startedMs: atMs, startedMonotonicMs: monotonicMs, retries: task.retries },
      body: () => given().body,
      args: (own) => withStopper(given(), own, task.stopped),
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

function withStopper(args: object, own: OwnArgs, stopped: Stopper): object {
  return Object.defineProperty(Object.assign(args, own, { stopped }), 'signal', signal)
}

/** How long to wait before the first call of a daemon or a timer; a function of the user is asked for each object. */

/** In milliseconds. Throws what the function throws, and where its answer will not do. */
export function initialDelayOf<O>(host: DaemonPoolOptions<O>, { handler, owner }: DaemonTask<O>): number {
  const { initialDelay } = handler.background
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
