/** Calls the function of a daemon or a timer once, and writes its patch to the object. Also computes the initial delay. Called by daemon-pool.ts. */
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

/** Resolves when the patch of the call is written: until then the daemon counts as running, and its finalizer keeps the object. */
export async function callDaemon<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<Outcome> {
  const reserved = host.reserve(task.owner, task.handler)
  if (reserved === undefined) return callDaemonNow(host, task)
  const release = await reserved
  // The task may have been stopped while it waited for the reservation.
  if (!task.stopped.isSet()) return callDaemonNow(host, task).finally(release)
  release()
  return { type: 'done', result: undefined }
}

async function callDaemonNow<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<Outcome> {
  const { clock } = host
  const { handler, owner } = task
  const logger = host.loggerOf(owner)
  const patch = createPatch<KubeObject>()
  task.started ??= { atMs: clock.now(), monotonicMs: monotonicNow(clock) }
  const { atMs, monotonicMs } = task.started
  // All attempts happen in this process, so the timeout uses the monotonic clock: setting the system time does not use it up.
  const monotonicClock = { now: () => atMs + monotonicNow(clock) - monotonicMs }
  const outcome = await attemptHandler(
    { clock: monotonicClock, logger, watch: host.watchOf(handler), defaultBackoffMs: host.defaultBackoffMs() },
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
 * The argument `signal` is created on first access: with tens of thousands of daemons, unused signals take too much memory. All argument objects
 * share one getter: with a getter of its own, each would become a dictionary in V8 and two kilobytes larger.
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

/** The time before the first call, in milliseconds. If `initialDelay` is a function, it is called for each object. Throws if it throws or returns no duration. */
export function initialDelayOf<O>(host: DaemonPoolOptions<O>, { handler, owner }: DaemonTask<O>): number {
  const { initialDelay } = handler.background!
  if (typeof initialDelay === 'number') return initialDelay
  const args = host.argsOf(owner, handler, host.loggerOf(owner))
  const delay = (initialDelay as (args: object) => unknown)(args)
  if (delay instanceof Promise) {
    // The promise is not awaited: an unhandled rejection must not end the process.
    delay.catch(() => undefined)
    throw new KopfError(
      'KOPF_DURATION',
      'Cannot use a promise as a delay: "initialDelay" must be a synchronous function',
    )
  }
  return toMs(delay as Duration, `the initialDelay of "${handler.id}"`)
}
