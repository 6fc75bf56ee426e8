/**
 * Daemons and timers of all objects. A daemon is a call that takes as long as it takes; a timer that waits is an entry of one
 * heap and nothing more. Told by running/ what is to run for an object; calls their functions, hands on what they want
 * written, and tells when one has ended. Never decides about finalizers.
 */
import type { DaemonStoppingReason } from '../../core/handling/args.ts'
import type { Handler } from '../../core/handling/handler.ts'
import { titleOf } from '../../core/handling/kinds.ts'
import { describeError } from '../../core/handling/outcomes.ts'
import { isAmong } from '../../core/handling/select.ts'
import { Alarms } from '../../util/alarms.ts'
import { monotonicOf } from '../../util/clock.ts'
import { call } from './call.ts'
import type { Host } from './host.ts'
import { initialDelayOf } from './initial-delay.ts'
import { Stopper, type Waits } from './stopper.ts'
import { type Next, Task, type Tasks } from './task.ts'
import { endsInstantly, terminate } from './termination.ts'

export class Background<O> {
  readonly #host: Host<O>
  readonly #all = new Set<Task<O>>()
  /** A task for its next call, or all of an object to be looked at again. */
  readonly #alarms: Alarms<Task<O> | Tasks<O>>
  readonly #waits: Waits
  readonly #exiting = new AbortController()

  constructor(host: Host<O>) {
    this.#host = host
    this.#alarms = new Alarms(host.clock, (key) => this.#ring(key), host.stopping)
    this.#waits = new Alarms<() => void>(host.clock, (wake) => wake())
  }

  /** How many daemons and timers there are. */
  get size(): number {
    return this.#all.size
  }

  /** One that is still there is never started twice, be it on its way out. */
  start(tasks: Tasks<O>, handler: Handler): void {
    if (this.#host.stopping.aborted || this.#host.isPaused(tasks.owner) || isAround(tasks, handler)) return
    const task = new Task(handler, tasks, new Stopper(this.#waits))
    tasks.running.push(task)
    this.#all.add(task)
    this.#begin(task)
  }

  /** What waits ends at once; what runs is asked, and seen to. */
  stop(task: Task<O>, reason: DaemonStoppingReason): void {
    if (task.stopped.reason !== reason) task.stopped.set(reason)
    this.#alarms.cancel(task)
    if (!task.isRunning) this.#end(task)
    else task.ending ??= this.#terminate(task)
  }

  /** The operator stands back: those of these objects are asked to end. They are started again when their object is seen again. */
  pause(isLeft: (owner: O) => boolean): void {
    for (const task of [...this.#all]) if (isLeft(task.owner)) this.stop(task, 'operator-pausing')
  }

  /** The operator stops: resolves when all have ended, or were given the time they have. */
  async stopAll(): Promise<void> {
    this.#exiting.abort()
    const all = [...this.#all]
    for (const task of all) this.stop(task, 'operator-exiting')
    await Promise.all(all.map(({ ending }) => ending))
  }

  /** The object has changed in what counts: those that wait for nothing else are due when it has been quiet for long enough. */
  noteChange({ running }: Tasks<O>): void {
    for (const task of running) {
      task.hasNews = true
      if (!task.isParked) continue
      task.isParked = false
      this.#alarms.setAfter(task, this.#unrestMs(task))
    }
  }

  /** Filters that ask functions may answer differently without any event: somebody has to ask them again. */
  lookAgainAfter(tasks: Tasks<O>, delayMs: number): void {
    this.#alarms.setAfter(tasks, delayMs)
  }

  /** Nothing is left of an object that is gone, but for daemons that take their time to end. */
  leave(tasks: Tasks<O>, reason: DaemonStoppingReason): void {
    this.#alarms.cancel(tasks)
    for (const task of [...tasks.running]) this.stop(task, reason)
  }

  /** Most end within a moment: what follows from their end can then be done at once. */
  async untilInstantEnd({ running }: Tasks<O>): Promise<void> {
    await Promise.all(running.map((task) => endsInstantly(this.#host, task)))
  }

  async #terminate(task: Task<O>): Promise<void> {
    await terminate(this.#host, task, this.#exiting.signal)
    if (task.isAbandoned) this.#host.lookAgain(task.owner)
  }

  #nowMs(): number {
    return monotonicOf(this.#host.clock)
  }

  #ring(key: Task<O> | Tasks<O>): void {
    if (key instanceof Task) this.#tick(key)
    else this.#host.lookAgain(key.owner)
  }

  #begin(task: Task<O>): void {
    try {
      const delayMs = initialDelayOf(this.#host, task)
      if (delayMs > 0) this.#alarms.setAfter(task, delayMs)
      else this.#tick(task)
    } catch (error) {
      const words = `${titleOf(task.handler)} is not started: its initialDelay failed: ${describeError(error)}`
      this.#host.loggerOf(task.owner).error(words, { error })
      this.#end(task)
    }
  }

  /** How long the object must still be left alone. */
  #unrestMs({ handler, owner }: Task<O>): number {
    const idleMs = handler.background?.rhythm?.idleMs
    if (idleMs === undefined) return 0
    return Math.max(0, this.#host.changedMs(owner) + idleMs - this.#nowMs())
  }

  #tick(task: Task<O>): void {
    if (task.hasEnded || task.isRunning || task.stopped.isSet()) return
    const unrestMs = this.#unrestMs(task)
    if (unrestMs > 0) {
      task.anchorMs = undefined
      this.#alarms.setAfter(task, unrestMs)
    } else if (this.#isMeant(task)) {
      void this.#run(task)
    } else if (task.handler.background?.rhythm === undefined) {
      // It has waited in vain, and ends at once: whoever looks at the object again may start it anew.
      this.stop(task, 'filters-mismatch')
    } else {
      // Whoever looks will stop it, unless it is meant again by then.
      this.#alarms.setAfter(task, task.pauseMs(this.#nowMs()))
      this.#host.lookAgain(task.owner)
    }
  }

  /** Only of what has waited, and comes again: otherwise it was just started for an object that it is for. */
  #isMeant({ handler, owner, retries }: Task<O>): boolean {
    const { rhythm, initialDelay } = handler.background!
    try {
      return (rhythm === undefined && initialDelay === 0 && retries === 0) || this.#host.isFor(owner, handler)
    } catch {
      // Whoever looks at the object again will find out, and say so.
      return false
    }
  }

  async #run(task: Task<O>): Promise<void> {
    task.isRunning = true
    task.hasNews = false
    task.anchorMs ??= this.#nowMs()
    const outcome = await call(this.#host, task)
    task.isRunning = false
    if (task.stopped.isSet()) {
      this.#endWith(task, 'has exited on request and will not be retried or restarted.')
    } else {
      this.#schedule(task, task.follow(outcome, this.#nowMs()))
    }
  }

  #schedule(task: Task<O>, next: Next): void {
    if (next === 'never') {
      this.#endWith(task, 'has exited on its own and will not be retried or restarted.')
    } else if (next !== 'when-changed') {
      this.#alarms.setAfter(task, next.afterMs)
    } else if (task.hasNews) {
      this.#alarms.setAfter(task, this.#unrestMs(task))
    } else {
      task.isParked = true
    }
  }

  #endWith(task: Task<O>, words: string): void {
    this.#host.loggerOf(task.owner).debug(`${titleOf(task.handler)} ${words}`)
    this.#end(task)
  }

  #end(task: Task<O>): void {
    const { group, handler } = task
    this.#all.delete(task)
    group.running.splice(group.running.indexOf(task), 1)
    if (!task.stopped.isSet()) group.finished = [...(group.finished ?? []), handler]
    task.end()
    this.#host.lookAgain(group.owner)
  }
}

/** Or has been, and is not to come again. */
function isAround<O>({ running, finished = [] }: Tasks<O>, handler: Handler): boolean {
  return isAmong(finished, handler) || running.some((task) => isAmong([task.handler], handler))
}
