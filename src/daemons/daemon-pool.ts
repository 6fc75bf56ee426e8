/**
 * Runs the daemons and timers of all objects. A daemon is one call that may run as long as the object exists; a waiting timer is an entry in a shared
 * timer queue. The pool wakes the worker of an object when a task ends. It does not decide which tasks run (object-daemons.ts) or add finalizers.
 */
import type { DaemonStoppingReason } from '../handlers/args/args.ts'
import type { BackgroundHandler } from '../handlers/handler.ts'
import { titleOf } from '../handlers/handler.ts'
import type { CallWatch } from '../handlers/invoke.ts'
import { isAmong } from '../handlers/matching.ts'
import type { CollectedPatch } from '../handlers/results.ts'
import type { ObservedObject, Observer } from '../observer.ts'
import type { BackgroundSettings } from '../settings/groups.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { TimerQueue } from '../util/async/timer-queue.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { runDetached } from '../util/tracing/open-telemetry.ts'
import type { SpanSubject, Tracing } from '../util/tracing/spans.ts'
import { callDaemon, initialDelayOf } from './daemon-call.ts'
import { DaemonTask, type DaemonTasks, type NextCall } from './daemon-task.ts'
import { Stopper, type StopWaits } from './stopped.ts'
import { exitsInstantly, terminate } from './termination.ts'

export class DaemonPool<O> {
  readonly #options: DaemonPoolOptions<O>
  readonly #all = new Set<DaemonTask<O>>()
  /** Keyed by a task for its next call, or by all tasks of an object for the next evaluation of their filters. */
  readonly #timers: TimerQueue<DaemonTask<O> | DaemonTasks<O>>
  readonly #waits: StopWaits
  readonly #exiting = new AbortController()

  constructor(options: DaemonPoolOptions<O>) {
    this.#options = options
    this.#timers = new TimerQueue(options.clock, (key) => this.#fire(key), options.stopping)
    this.#waits = new TimerQueue<() => void>(options.clock, (wake) => wake())
  }

  /** The number of daemons and timers that exist. */
  get size(): number {
    return this.#all.size
  }

  /** Starts a daemon or a timer. A task that still runs is not started a second time, even if it is being stopped. */
  start(tasks: DaemonTasks<O>, handler: BackgroundHandler): void {
    if (this.#options.stopping.aborted || this.#options.isPaused(tasks.owner) || isRunning(tasks, handler)) return
    const task = new DaemonTask(handler, tasks, new Stopper(this.#waits))
    tasks.running.push(task)
    this.#all.add(task)
    this.#options.observer?.daemonStarted?.(this.#observed(task))
    // A daemon is not a part of the processing that starts it.
    runDetached(() => this.#begin(task))
  }

  /** Stops a task. A waiting task ends at once; a running one gets the stop signal, and is cancelled after its timeout. */
  stop(task: DaemonTask<O>, reason: DaemonStoppingReason): void {
    if (task.stopped.reason !== reason) task.stopped.set(reason)
    this.#timers.cancel(task)
    if (!task.isRunning) this.#end(task)
    else task.termination ??= this.#terminate(task)
  }

  /** Called when the operator pauses: stops the tasks of the paused objects. They start again when the watch delivers their object after the pause. */
  pause(isPaused: (owner: O) => boolean): void {
    for (const task of [...this.#all]) if (isPaused(task.owner)) this.stop(task, 'operator-pausing')
  }

  /** Called when the operator stops. Resolves when all tasks have ended or have exceeded their timeouts. */
  async stopAll(): Promise<void> {
    this.#exiting.abort()
    const all = [...this.#all]
    for (const task of all) this.stop(task, 'operator-exiting')
    await Promise.all(all.map(({ termination }) => termination))
  }

  /** Called when the essence of the object has changed: timers that wait only for a change become due after their idle time. */
  objectChanged({ running }: DaemonTasks<O>): void {
    for (const task of running) {
      task.isObjectChanged = true
      if (!task.waitsForChange) continue
      task.waitsForChange = false
      this.#callAfter(task, this.#idleLeftMs(task))
    }
  }

  /** Calls tasks that wait for their next attempt after an error now. Their attempts, and the `idle` of timers, count as always. */
  hasten({ running }: DaemonTasks<O>): void {
    for (const task of running) if (task.retries > 0 && !task.isRunning) this.#callAfter(task, 0)
  }

  /** Wakes the worker later to evaluate filters again: the result of a filter function may change without an event. */
  wakeAfter(tasks: DaemonTasks<O>, delayMs: number): void {
    this.#timers.setAfter(tasks, delayMs)
  }

  /** Stops all tasks of an object that is not handled any more. Daemons may take a while to end. */
  release(tasks: DaemonTasks<O>, reason: DaemonStoppingReason): void {
    this.#timers.cancel(tasks)
    for (const task of [...tasks.running]) this.stop(task, reason)
  }

  /** Waits briefly for tasks that are being stopped. Most daemons end within milliseconds, so the worker can continue at once. */
  async untilInstantEnd({ running }: DaemonTasks<O>): Promise<void> {
    await Promise.all(running.map((task) => exitsInstantly(this.#options, task)))
  }

  async #terminate(task: DaemonTask<O>): Promise<void> {
    await terminate(this.#options, task, this.#exiting.signal)
    if (task.isAbandoned) this.#options.wake(task.owner)
  }

  #nowMs(): number {
    return monotonicNow(this.#options.clock)
  }

  #fire(key: DaemonTask<O> | DaemonTasks<O>): void {
    if (key instanceof DaemonTask) this.#tick(key)
    else this.#options.wake(key.owner)
  }

  #begin(task: DaemonTask<O>): void {
    try {
      const delayMs = initialDelayOf(this.#options, task)
      if (delayMs > 0) this.#callAfter(task, delayMs)
      else this.#tick(task)
    } catch (error) {
      const message = `${titleOf(task.handler)} is not started: its initialDelay failed: ${describeError(error)}`
      this.#options.loggerOf(task.owner).error(message, { error })
      this.#end(task)
    }
  }

  /** The time for which the object must still stay unchanged before a timer with `idle` is called. */
  #idleLeftMs({ handler, owner }: DaemonTask<O>): number {
    const idleMs = handler.background.schedule?.idleMs
    if (idleMs === undefined) return 0
    return Math.max(0, this.#options.changedMs(owner) + idleMs - this.#nowMs())
  }

  #callAfter(task: DaemonTask<O>, delayMs: number): void {
    task.dueMs = this.#nowMs() + delayMs
    this.#timers.setAfter(task, delayMs)
  }

  #tick(task: DaemonTask<O>): void {
    if (task.hasEnded || task.isRunning || task.stopped.isSet()) return
    const idleLeftMs = this.#idleLeftMs(task)
    if (idleLeftMs > 0) {
      task.anchorMs = undefined
      this.#callAfter(task, idleLeftMs)
    } else if (this.#stillMatches(task)) {
      void this.#run(task)
    } else if (task.handler.background.schedule === undefined) {
      // A daemon whose filters do not match any more after its initial delay ends at once; the worker may start it again later.
      this.stop(task, 'filters-mismatch')
    } else {
      // The worker stops the timer, unless its filters match again by then.
      this.#callAfter(task, task.pauseMs(this.#nowMs()))
      this.#options.wake(task.owner)
    }
  }

  /** Evaluates the filters again, except for a daemon that starts without a delay: its filters have just matched. */
  #stillMatches({ handler, owner, retries }: DaemonTask<O>): boolean {
    const { schedule, initialDelay } = handler.background
    try {
      return (schedule === undefined && initialDelay === 0 && retries === 0) || this.#options.matches(owner, handler)
    } catch {
      // The worker evaluates the same filters, and reports the error.
      return false
    }
  }

  async #run(task: DaemonTask<O>): Promise<void> {
    task.isRunning = true
    task.isObjectChanged = false
    task.anchorMs ??= this.#nowMs()
    this.#reportTimer(task)
    const outcome = await callDaemon(this.#options, task)
    task.isRunning = false
    if (task.stopped.isSet()) {
      this.#endWith(task, 'has exited on request and will not be retried or restarted.')
    } else {
      this.#schedule(task, task.follow(outcome, this.#nowMs()))
    }
  }

  #reportTimer(task: DaemonTask<O>): void {
    const { observer } = this.#options
    if (observer?.timerFired === undefined || task.handler.background.schedule === undefined) return
    const latenessMs = task.dueMs === undefined ? 0 : Math.max(0, this.#nowMs() - task.dueMs)
    observer.timerFired({ ...this.#observed(task), latenessMs })
  }

  #schedule(task: DaemonTask<O>, next: NextCall): void {
    if (next === 'never') {
      this.#endWith(task, 'has exited on its own and will not be retried or restarted.')
    } else if (next !== 'when-changed') {
      this.#callAfter(task, next.afterMs)
    } else if (task.isObjectChanged) {
      this.#callAfter(task, this.#idleLeftMs(task))
    } else {
      task.waitsForChange = true
    }
  }

  #endWith(task: DaemonTask<O>, message: string): void {
    this.#options.loggerOf(task.owner).debug(`${titleOf(task.handler)} ${message}`)
    this.#end(task)
  }

  #end(task: DaemonTask<O>): void {
    const { group, handler } = task
    this.#all.delete(task)
    group.running.splice(group.running.indexOf(task), 1)
    if (!task.stopped.isSet()) group.finished = [...(group.finished ?? []), handler]
    task.end()
    this.#options.observer?.daemonStopped?.(this.#observed(task))
    this.#options.wake(group.owner)
  }

  #observed({ owner, handler: { id, type } }: DaemonTask<O>) {
    return { object: this.#options.observedObject(owner), handler: { id, type } }
  }
}

/** Whether the handler runs for the object, or has ended by itself and must not be started again. */
function isRunning<O>({ running, finished = [] }: DaemonTasks<O>, handler: BackgroundHandler): boolean {
  return isAmong(finished, handler) || running.some((task) => isAmong([task.handler], handler))
}

/** The dependencies of the pool, provided by object-daemons.ts. `O` is the type of the watched object. */
export interface DaemonPoolOptions<O> {
  readonly clock: Clock
  readonly settings: BackgroundSettings
  readonly defaultBackoffMs: () => number
  /** Aborted when the operator starts to stop: no function is called after that. */
  readonly stopping: AbortSignal
  readonly observer: Observer | undefined
  readonly tracing: Tracing
  observedObject(owner: O): ObservedObject
  spanSubject(owner: O): SpanSubject
  /** Whether the operator is paused for the object: no task is started then. */
  isPaused(owner: O): boolean
  /** Reports calls that block the event loop or do not return. */
  watchOf(handler: BackgroundHandler): CallWatch
  loggerOf(owner: O): Logger
  /** New arguments for each call: a snapshot of the object for timers, a live view for daemons. */
  argsOf(owner: O, handler: BackgroundHandler, logger: Logger): object
  /** For a timer of a large object: resolves when memory is reserved to parse it, with the function that releases the memory. */
  reserve(owner: O, handler: BackgroundHandler): Promise<() => void> | undefined
  /** Whether the filters of the handler match the object now. False for an object that is being deleted. */
  matches(owner: O, handler: BackgroundHandler): boolean
  /** When the essence of the object changed last, or was first seen; by the monotonic clock. */
  changedMs(owner: O): number
  /** Resolves when the patch is written or left to the worker. Never rejects. */
  write(owner: O, handler: BackgroundHandler, patch: CollectedPatch): Promise<void>
  /** Wakes the worker of the object, which decides which tasks to start or stop. */
  wake(owner: O): void
}
