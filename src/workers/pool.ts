/**
 * The worker threads of one run: started on demand up to a limit, reused, and terminated when they are idle. Each runs one call at a time; calls
 * without a free thread wait in a queue (first in, first out). Created by run/bootstrap.ts.
 */

import { KopfError } from '../errors.ts'
import type { Stopped } from '../handlers/args/args.ts'
import type { WorkerModule, Workers } from '../handlers/args/workers.ts'
import { listenForAbort } from '../util/async/any-signal.ts'
import { type Clock, noLongerNeeded } from '../util/async/clock.ts'
import { TimerQueue } from '../util/async/timer-queue.ts'
import { WorkerThread } from './worker-thread.ts'

export interface WorkerPoolOptions {
  readonly clock: Clock
  /** Returns the maximum number of threads; called whenever a thread is needed. */
  readonly limit: () => number
  /** Compiles a module and resolves to the URL to import. Default: modules are imported unchanged. */
  readonly load?: ((url: URL) => Promise<URL>) | undefined
}

/** The arguments that can end the waiting for a thread. */
interface PoolArgs {
  readonly signal?: AbortSignal
  readonly stopped?: Stopped
}

/** A call that waits for a thread. */
interface PendingCall {
  readonly start: (thread: WorkerThread) => void
  readonly fail: (error: unknown) => void
}

/** An idle thread is terminated after this time, which frees its memory. */
const idleMs = 60_000

export class WorkerPool implements Workers {
  readonly #options: WorkerPoolOptions
  /** The threads that count against the limit. */
  readonly #threads = new Set<WorkerThread>()
  /** A stack: the most recently used thread is reused first, so that surplus threads become idle long enough to be terminated. */
  readonly #idle: WorkerThread[] = []
  /** Threads that no longer count: they are terminating, or still busy after the operator has stopped waiting for them. */
  readonly #retired = new Set<WorkerThread>()
  /** Calls that wait for a thread, in the order of arrival. */
  #waiting: PendingCall[] = []
  readonly #idleTimers: TimerQueue<WorkerThread>
  #isClosed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#idleTimers = new TimerQueue(options.clock, (thread) => void this.#terminate(thread))
  }

  async run(module: WorkerModule, args: object): Promise<unknown> {
    const address = (await this.#options.load?.(new URL(module.url)))?.href ?? module.url
    const thread = await this.#acquire(args)
    try {
      return await thread.run({ ...module, address }, args)
    } finally {
      this.#release(thread)
    }
  }

  /** At the stop: busy threads no longer count against the limit, so that cleanup handlers get threads; waiting calls are dropped. */
  abandonCalls(): void {
    for (const thread of this.#threads) if (!this.#idle.includes(thread)) this.#retire(thread)
    this.#waiting = []
  }

  /** Terminates all threads, even busy ones. Resolves to the number of threads that were busy. */
  async close(): Promise<number> {
    this.#isClosed = true
    this.abandonCalls()
    const all = [...this.#retired, ...this.#threads]
    const busy = all.filter(({ isBusy }) => isBusy).length
    await Promise.all(all.map((thread) => this.#terminate(thread)))
    return busy
  }

  #acquire({ signal, stopped }: PoolArgs): Promise<WorkerThread> {
    if (this.#isClosed) {
      return Promise.reject(new KopfError('KOPF_WORKER', 'Cannot run anything in a worker: the operator has stopped'))
    }
    return new Promise((resolve, reject) => {
      const over = new AbortController()
      const waiting: PendingCall = {
        start: (thread) => {
          over.abort(noLongerNeeded)
          resolve(thread)
        },
        fail: (error) => {
          over.abort(noLongerNeeded)
          reject(error)
        },
      }
      this.#waiting.push(waiting)
      this.#assignThreads()
      if (stopped !== undefined)
        listenForAbort(stopped.signal, () => this.#removeWaiting(waiting, stopped.signal), over.signal)
      if (signal !== undefined) listenForAbort(signal, () => this.#removeWaiting(waiting), over.signal)
    })
  }

  /**
   * Removes a waiting call. A stopped daemon ends with the reason of its stop. Other calls never settle: a failure would count as one of the
   * handler's attempts, although it was not called. The operator calls the handler after its next start.
   */
  #removeWaiting(waiting: PendingCall, stopped?: AbortSignal): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiting)
    if (stopped !== undefined) waiting.fail(stopped.reason)
  }

  #assignThreads(): void {
    while (this.#waiting.length > 0) {
      try {
        const thread = this.#idle.pop() ?? this.#start()
        if (thread === undefined) return
        this.#idleTimers.cancel(thread)
        this.#waiting.shift()!.start(thread)
      } catch (error) {
        // The system cannot start another thread.
        this.#waiting.shift()!.fail(error)
      }
    }
  }

  #start(): WorkerThread | undefined {
    if (this.#threads.size >= this.#options.limit()) return undefined
    const thread = new WorkerThread((ended) => {
      this.#retire(ended)
      this.#retired.delete(ended)
      this.#assignThreads()
    })
    this.#threads.add(thread)
    return thread
  }

  #release(thread: WorkerThread): void {
    const isTooMany = this.#threads.size > this.#options.limit()
    if (thread.isUnusable || isTooMany || !this.#threads.has(thread)) {
      void this.#terminate(thread)
    } else {
      this.#idle.push(thread)
      this.#idleTimers.setAfter(thread, idleMs)
    }
    this.#assignThreads()
  }

  async #terminate(thread: WorkerThread): Promise<void> {
    this.#retire(thread)
    await thread.terminate()
  }

  #retire(thread: WorkerThread): void {
    this.#idleTimers.cancel(thread)
    if (this.#threads.delete(thread)) this.#retired.add(thread)
    const index = this.#idle.indexOf(thread)
    if (index >= 0) this.#idle.splice(index, 1)
  }
}
