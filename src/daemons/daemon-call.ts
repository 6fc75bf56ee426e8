/** Calls the function of a daemon or a timer once, and writes its patch to the object. Also computes the initial delay. Called by daemon-pool.ts. */
import { KopfError } from '../errors.ts'
import { callHandler, type OwnArgs } from '../handlers/invoke.ts'
import { isAbort, type Outcome } from '../handlers/outcomes.ts'
import { collectHandlerPatch, createCollectedPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { lazy } from '../util/lazy.ts'
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

function callDaemonNow<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<Outcome> {
  const { spans } = host.tracing
  if (spans === undefined) return callAndWrite(host, task)
  const { handler, owner, retries } = task
  return spans.background(
    { id: handler.id, type: handler.type, retry: retries },
    () => host.spanSubject(owner),
    () => callAndWrite(host, task),
  )
}

async function callAndWrite<O>(host: DaemonPoolOptions<O>, task: DaemonTask<O>): Promise<Outcome> {
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
      tracing: host.tracing,
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
  const collected = createCollectedPatch()
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

function withStopper(args: object, own: OwnArgs, stopped: Stopper): object {
  return Object.defineProperty(Object.assign(args, own, { stopped }), 'signal', signal)
}

/** The time before the first call, in milliseconds. If `initialDelay` is a function, it is called for each object. Throws if it throws or returns no duration. */
export function initialDelayOf<O>(host: DaemonPoolOptions<O>, { handler, owner }: DaemonTask<O>): number {
  const { initialDelay } = handler.background
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
