/**
 * Between the hall and the daemons and timers of an object: which of them are to run now, whether they keep the object from
 * going, and what they are given. Called by changes.ts and process.ts; what runs is in features/daemons.
 */
import type { DaemonStoppingReason } from '../core/handling/args.ts'
import type { Handler } from '../core/handling/handler.ts'
import { isAmong, preMatches } from '../core/handling/select.ts'
import { liveObjectArgs, objectArgs } from '../core/handling/subject.ts'
import { Background } from '../features/daemons/background.ts'
import type { Host } from '../features/daemons/host.ts'
import { isDeletionOngoing } from '../kube/finalizers.ts'
import { toMs } from '../util/duration.ts'
import { once } from '../util/once.ts'
import { writeSoon } from './late-writes.ts'
import type { Memory } from './memories.ts'
import { recheckMsOf } from './rechecks.ts'
import { loggerOf, type Runtime, subjectOf } from './runtime.ts'
import type { View } from './view.ts'
import type { Watchdog } from './watchdog.ts'

/** What the daemons and timers of an object come to, as far as its finalizer is concerned. */
export interface Verdict {
  /** Those that the object is for, and that have not ended by themselves. */
  readonly wanted: readonly Handler[]
  /** The finalizer belongs on the object. */
  readonly isRequired: boolean
}

export function weighBackground(memory: Memory, view: View): Verdict {
  const { background } = memory.served.handlers
  if (background.length === 0) return { wanted: [], isRequired: false }
  const situation = { resource: view.resource, body: view.body, args: view.objectArgs }
  const finished = memory.tasks?.finished ?? []
  const wanted = background.filter((handler) => !isAmong(finished, handler) && preMatches(handler, situation))
  return { wanted, isRequired: wanted.some(({ needsFinalizer }) => needsFinalizer) || isAwaited(memory) }
}

/** Whether the object must stay: one is still there, or what one wanted is not written yet. */
export function isHeld(memory: Memory): boolean {
  return isAwaited(memory) || (memory.leftOver?.size ?? 0) > 0
}

function isAwaited({ tasks }: Memory): boolean {
  return tasks?.running.some(({ handler, isAbandoned }) => handler.needsFinalizer && !isAbandoned) ?? false
}

/** Whether one is still there at all; an orphan too. */
export function isAccompanied({ tasks }: Memory): boolean {
  return tasks !== undefined && tasks.running.length > 0
}

/** Stops what is not to run any more, and starts what is; the finalizer comes first where it is needed. */
export async function tendBackground(
  { background }: Runtime,
  memory: Memory,
  { view, wanted }: { readonly view: View } & Verdict,
): Promise<void> {
  const { tasks, served } = memory
  if (view.deleting) {
    if (tasks === undefined) return
    background.leave(tasks, 'resource-deleted')
    await background.untilInstantEnd(tasks)
    return
  }
  for (const task of [...(tasks?.running ?? [])]) {
    if (!isAmong(wanted, task.handler)) background.stop(task, 'filters-mismatch')
  }
  if (served.handlers.background.length === 0) return
  memory.tasks ??= { owner: memory, running: [], finished: undefined }
  for (const handler of wanted) {
    if (!handler.needsFinalizer || view.blocked) background.start(memory.tasks, handler)
  }
  const recheckMs = Math.min(...unwanted(memory, wanted).map((handler) => recheckMsOf(handler, view)))
  if (recheckMs < Infinity) background.lookAgainAfter(memory.tasks, recheckMs)
}

/** Those that may be for the object at another time. */
function unwanted({ served, tasks }: Memory, wanted: readonly Handler[]): Handler[] {
  return served.handlers.background.filter((one) => !isAmong(wanted, one) && !isAmong(tasks?.finished ?? [], one))
}

/** The object is gone, or none of our business any more. */
export function leaveBackground({ background }: Runtime, { tasks }: Memory, reason: DaemonStoppingReason): void {
  if (tasks !== undefined) background.leave(tasks, reason)
}

export function createBackground(runtime: Runtime, watchdog: Watchdog): Background<Memory> {
  const host: Host<Memory> = {
    clock: runtime.clock,
    settings: runtime.settings.background,
    defaultBackoffMs: () => toMs(runtime.settings.execution.defaultBackoff),
    watchOf: ({ background }) => (background?.rhythm === undefined ? watchdog.watchOfDaemons() : watchdog.watchOf()),
    stopping: runtime.stopping,
    isPaused: ({ body }) => runtime.pause.isPausedIn(body.metadata.namespace),
    loggerOf: ({ body }) => loggerOf(runtime, body),
    argsOf: (memory, { background }, logger) => {
      const subject = () => subjectOf(runtime, memory, logger)
      if (background?.rhythm !== undefined) return objectArgs(subject())
      return liveObjectArgs({ ...subject(), clock: runtime.daemonClock }, () => memory.body)
    },
    reserve: ({ body }, { background }) =>
      // What daemons read of a large object is parsed each time they read it.
      background?.rhythm === undefined ? undefined : runtime.large.reserveCall(body),
    isFor: (memory, handler) => isFor(runtime, memory, handler),
    changedMs: ({ changedMs }) => changedMs,
    write: (memory, handler, wishes) => writeSoon(runtime, memory, { handler, wishes }),
    lookAgain: (memory) => runtime.queue.put(memory, { type: 'wake' }),
  }
  return new Background(host)
}

function isFor(runtime: Runtime, memory: Memory, handler: Handler): boolean {
  if (isDeletionOngoing(memory.body)) return false
  const { resource, handlers } = memory.served
  const args = once(() => objectArgs(subjectOf(runtime, memory, loggerOf(runtime, memory.body))))
  const situation = { resource, body: memory.body, args }
  return handlers.background.some((one) => isAmong([one], handler) && preMatches(one, situation))
}
