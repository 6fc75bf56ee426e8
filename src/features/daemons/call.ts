/** One call of a daemon or a timer, and the writing of what came of it. */
import { createConditions } from '../../core/handling/conditions.ts'
import { attempt } from '../../core/handling/invoke.ts'
import { isAbort, type Outcome } from '../../core/handling/outcomes.ts'
import { checkResult, collectWish, type Wishes } from '../../core/handling/results.ts'
import { createPatch, type Patch } from '../../core/patching/patch.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { monotonicOf } from '../../util/clock.ts'
import type { Logger } from '../../util/log.ts'
import type { Host } from './host.ts'
import type { Stopper } from './stopper.ts'
import type { Task } from './task.ts'

/** It is over only when what it wants is written: the object must not go before. */
export async function call<O>(host: Host<O>, task: Task<O>): Promise<Outcome> {
  const reserved = host.reserve(task.owner, task.handler)
  if (reserved === undefined) return callNow(host, task)
  const release = await reserved
  // It may have been stopped while it waited.
  if (!task.stopped.isSet()) return callNow(host, task).finally(release)
  release()
  return { type: 'done', result: undefined }
}

async function callNow<O>(host: Host<O>, task: Task<O>): Promise<Outcome> {
  const { clock } = host
  const { handler, owner } = task
  const logger = host.loggerOf(owner)
  const patch = createPatch<KubeObject>()
  task.started ??= { atMs: clock.now(), steadyMs: monotonicOf(clock) }
  const { atMs, steadyMs } = task.started
  // All of it happens in this process: when the time of day is set, nothing has been used up.
  const steadyClock = { now: () => atMs + monotonicOf(clock) - steadyMs }
  const outcome = await attempt(
    { clock: steadyClock, logger, watch: host.watchOf(handler), defaultBackoffMs: host.defaultBackoffMs() },
    handler,
    { startedMs: atMs, retries: task.retries },
    {
      args: (retryArgs) => argsOf(host, task, { logger, patch, rest: { ...retryArgs, param: handler.param } }),
      finish: (result) => checkResult(handler, patch, result),
      isInterruption: (error) => task.stopped.isSet() && isAbort(error),
    },
  )
  const wishes: Wishes = { merge: {}, fns: [] }
  collectWish(wishes, { handler, patch, outcome })
  if (Object.keys(wishes.merge).length > 0 || wishes.fns.length > 0) await host.write(owner, handler, wishes)
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
  host: Host<O>,
  task: Task<O>,
  { logger, patch, rest }: { readonly logger: Logger; readonly patch: Patch<KubeObject>; readonly rest: object },
): object {
  const { handler, owner, stopped } = task
  const given = host.argsOf(owner, handler, logger) as { readonly body: KubeObject }
  const conditions = createConditions({ patch, body: () => given.body, clock: host.clock, handler })
  return Object.defineProperty(Object.assign(given, rest, { patch, conditions, stopped }), 'signal', signal)
}
