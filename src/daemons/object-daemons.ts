/**
 * The feature `daemons` of the worker: decides which daemons and timers run for a state of an object and whether they need the finalizer, and starts and
 * stops them in the pool (daemon-pool.ts).
 */
import { liveObjectArgs, objectArgs } from '../handlers/args/object-args.ts'
import type { BackgroundHandler } from '../handlers/handler.ts'
import { isAmong, preMatches } from '../handlers/matching.ts'
import type { Watchdog } from '../handlers/watchdog.ts'
import { isDeletionOngoing } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { CauseView } from '../objects/cause-view.ts'
import { argsSourceOf, type Context, objectLogger, observedObject, spanSubject } from '../objects/context.ts'
import type { FeatureDecision, ObjectFeature, ReleaseReason } from '../objects/features.ts'
import { FeatureState } from '../objects/state/feature-state.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { writeBackgroundPatch } from '../objects/writes.ts'
import type { ObjectOutcome } from '../observer.ts'
import { lazy } from '../util/lazy.ts'
import { toMs } from '../util/text/duration.ts'
import { DaemonPool } from './daemon-pool.ts'
import type { DaemonTasks } from './daemon-task.ts'
import { filterCheckDelayMs } from './filter-checks.ts'
import { IdleTime } from './idle-time.ts'

/** The decision about the daemons and timers of an object in its current state. */
interface DaemonDecision extends FeatureDecision {
  /** Handlers that match the object and have not ended by themselves. */
  readonly matching: readonly BackgroundHandler[]
}

const tasksOf = new FeatureState<DaemonTasks<WatchedObject>>()

export class ObjectDaemons implements ObjectFeature<DaemonDecision> {
  readonly pool: DaemonPool<WatchedObject>
  readonly #context: Context
  readonly #idleTime: IdleTime

  constructor(context: Context, watchdog: Watchdog) {
    this.#context = context
    this.#idleTime = new IdleTime(context)
    this.pool = new DaemonPool<WatchedObject>({
      clock: context.clock,
      settings: context.settings.background,
      defaultBackoffMs: () => toMs(context.settings.execution.defaultBackoff),
      watchOf: ({ background }) => (background.schedule === undefined ? watchdog.watchOfDaemons() : watchdog.watchOf()),
      stopping: context.stopping,
      observer: context.observer,
      tracing: context.tracing,
      observedObject,
      spanSubject,
      isPaused: ({ body }) => context.pause.isPausedIn(body.metadata.namespace),
      loggerOf: ({ body }) => objectLogger(context, body),
      argsOf: (object, { background }, logger) => {
        const source = () => argsSourceOf(context, object, logger)
        if (background.schedule !== undefined) return objectArgs(source())
        return liveObjectArgs({ ...source(), clock: context.daemonClock }, () => object.body)
      },
      reserve: ({ body }, { background }) =>
        // A daemon parses a large object on each access and reserves no memory; a timer parses it once per call.
        background.schedule === undefined ? undefined : context.largeObjects.reserveCall(body),
      matches: (object, handler) => this.#matches(object, handler),
      changedMs: (object) => this.#idleTime.changedMs(object),
      write: (object, handler, patch) => writeBackgroundPatch(context, object, { handler, patch }),
      wake: (object) => context.queue.put(object, { type: 'wake' }),
    })
  }

  observed(object: WatchedObject, body: KubeObject): void {
    if (!object.served.hasIdleTimers) return
    const isChanged = this.#idleTime.recordState(object, body)
    const tasks = tasksOf.get(object)
    if (isChanged && tasks !== undefined) this.pool.objectChanged(tasks)
  }

  versionsForgotten(object: WatchedObject): void {
    this.#idleTime.forgetVersion(object)
  }

  decide(object: WatchedObject, cause: CauseView): DaemonDecision {
    const { background } = object.served.handlers
    if (background.length === 0) return { matching: [], needsFinalizer: false }
    const match = { resource: cause.resource, body: cause.body, args: cause.objectArgs }
    const finished = tasksOf.get(object)?.finished ?? []
    const matching = background.filter((handler) => !isAmong(finished, handler) && preMatches(handler, match))
    const needsFinalizer = matching.some((handler) => handler.needsFinalizer) || this.holdsFinalizer(object)
    return { matching, needsFinalizer }
  }

  /** Stops tasks that do not match any more, and starts tasks that match. A daemon that needs the finalizer starts after the finalizer is added. */
  async tend(object: WatchedObject, cause: CauseView, { matching }: DaemonDecision): Promise<void> {
    const { pool } = this
    const tasks = tasksOf.get(object)
    if (cause.deleting) {
      if (tasks === undefined) return
      pool.release(tasks, 'resource-deleted')
      await pool.untilInstantEnd(tasks)
      return
    }
    for (const task of [...(tasks?.running ?? [])]) {
      if (!isAmong(matching, task.handler)) pool.stop(task, 'filters-mismatch')
    }
    const { background } = object.served.handlers
    if (background.length === 0) return
    const own = tasks ?? tasksOf.set(object, { owner: object, running: [], finished: undefined })
    for (const handler of matching) {
      if (!handler.needsFinalizer || cause.hasFinalizer) pool.start(own, handler)
    }
    const others = background.filter((one) => !isAmong(matching, one) && !isAmong(own.finished ?? [], one))
    const checkMs = Math.min(...others.map((handler) => filterCheckDelayMs(handler, cause)))
    if (checkMs < Infinity) pool.wakeAfter(own, checkMs)
  }

  /** True while a daemon that needs the finalizer runs. An abandoned daemon does not count. */
  holdsFinalizer(object: WatchedObject): boolean {
    const running = tasksOf.get(object)?.running
    return running?.some(({ handler, isAbandoned }) => handler.needsFinalizer && !isAbandoned) ?? false
  }

  hastened(object: WatchedObject): void {
    const tasks = tasksOf.get(object)
    if (tasks !== undefined) this.pool.hasten(tasks)
  }

  released(object: WatchedObject, reason: ReleaseReason): void {
    const tasks = tasksOf.get(object)
    if (tasks !== undefined) this.pool.release(tasks, reason)
  }

  /** True while any task exists, including an abandoned daemon. */
  isActive(object: WatchedObject): boolean {
    return (tasksOf.get(object)?.running.length ?? 0) > 0
  }

  paused(isPaused: (object: WatchedObject) => boolean): void {
    this.pool.pause(isPaused)
  }

  initialOutcome(object: WatchedObject): ObjectOutcome | undefined {
    return this.isActive(object) ? 'watched' : undefined
  }

  #matches(object: WatchedObject, handler: BackgroundHandler): boolean {
    if (isDeletionOngoing(object.body)) return false
    const { resource, handlers } = object.served
    const args = lazy(() => objectArgs(argsSourceOf(this.#context, object, objectLogger(this.#context, object.body))))
    const match = { resource, body: object.body, args }
    return handlers.background.some((one) => isAmong([one], handler) && preMatches(one, match))
  }
}
