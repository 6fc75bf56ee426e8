/**
 * The threads of one run: started when they are needed, up to a limit, used again and again, ended when they are not. One
 * call at a time on each; calls that find none free wait in the order they came. Made by running/run.ts.
 */
import type { Stopped } from '../../core/handling/args.ts'
import type { WorkerModule, Workers } from '../../core/handling/workers.ts'
import { KopfError } from '../../errors.ts'
import { Alarms } from '../../util/alarms.ts'
import { type Clock, noLongerNeeded } from '../../util/clock.ts'
import { listenForAbort } from './abort.ts'
import { WorkerThread } from './worker-thread.ts'

export interface WorkerPoolOptions {
  readonly clock: Clock
  /** How many threads there can be; asked whenever one is needed. */
  readonly limit: () => number
  /** Makes of a module what can be imported; without it, all are imported as they are. */
  readonly load?: ((url: URL) => Promise<URL>) | undefined
}

/** The arguments that can end the waiting. */
interface PoolArgs {
  readonly signal?: AbortSignal
  readonly stopped?: Stopped
}

/** A call that needs a thread. */
interface Waiting {
  readonly take: (thread: WorkerThread) => void
  readonly fail: (error: unknown) => void
}

/** One that nobody needs for so long goes, with the memory it holds. */
const idleMs = 60_000

export class WorkerPool implements Workers {
  readonly #options: WorkerPoolOptions
  /** All that count for the limit. */
  readonly #threads = new Set<WorkerThread>()
  /** The last one that was used is the first to be used again, so that the others can go. */
  readonly #idle: WorkerThread[] = []
  /** Those that do not count any more: on their way out, or busy although their time is over. */
  readonly #leaving = new Set<WorkerThread>()
  /** Calls that wait for a thread, in the order they came. */
  #waiting: Waiting[] = []
  readonly #alarms: Alarms<WorkerThread>
  #isClosed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#alarms = new Alarms(options.clock, (thread) => void this.#dismiss(thread))
  }

  async run(module: WorkerModule, args: object): Promise<unknown> {
    const address = (await this.#options.load?.(new URL(module.url)))?.href ?? module.url
    const thread = await this.#take(args)
    try {
      return await thread.run({ ...module, address }, args)
    } finally {
      this.#giveBack(thread)
    }
  }

  /** Whoever is still at work does not stand in the way of others any more; whoever waits was not in time. */
  excuse(): void {
    for (const thread of this.#threads) if (!this.#idle.includes(thread)) this.#discount(thread)
    this.#waiting = []
  }

  /** Ends all of them, whatever they do; says how many were still at work. */
  async close(): Promise<number> {
    this.#isClosed = true
    this.excuse()
    const all = [...this.#leaving, ...this.#threads]
    const busy = all.filter(({ isBusy }) => isBusy).length
    await Promise.all(all.map((thread) => this.#dismiss(thread)))
    return busy
  }

  #take({ signal, stopped }: PoolArgs): Promise<WorkerThread> {
    if (this.#isClosed) {
      return Promise.reject(new KopfError('KOPF_WORKER', 'Cannot run anything in a worker: the operator has stopped'))
    }
    return new Promise((resolve, reject) => {
      const over = new AbortController()
      const waiting: Waiting = {
        take: (thread) => {
          over.abort(noLongerNeeded)
          resolve(thread)
        },
        fail: (error) => {
          over.abort(noLongerNeeded)
          reject(error)
        },
      }
      this.#waiting.push(waiting)
      this.#serve()
      if (stopped !== undefined) listenForAbort(stopped.signal, () => this.#leave(waiting, stopped.signal), over.signal)
      if (signal !== undefined) listenForAbort(signal, () => this.#leave(waiting), over.signal)
    })
  }

  /**
   * A daemon that is stopped has ended so. Any other call that has no more time was none: were it to fail, it would count as
   * an attempt, and there are only so many. So it never comes back, and the next operator makes it.
   */
  #leave(waiting: Waiting, stopped?: AbortSignal): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiting)
    if (stopped !== undefined) waiting.fail(stopped.reason)
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      try {
        const thread = this.#idle.pop() ?? this.#start()
        if (thread === undefined) return
        this.#alarms.cancel(thread)
        this.#waiting.shift()!.take(thread)
      } catch (error) {
        // The machine has no room for another thread.
        this.#waiting.shift()!.fail(error)
      }
    }
  }

  #start(): WorkerThread | undefined {
    if (this.#threads.size >= this.#options.limit()) return undefined
    const thread = new WorkerThread((ended) => {
      this.#discount(ended)
      this.#leaving.delete(ended)
      this.#serve()
    })
    this.#threads.add(thread)
    return thread
  }

  #giveBack(thread: WorkerThread): void {
    const isTooMany = this.#threads.size > this.#options.limit()
    if (thread.isSpent || isTooMany || !this.#threads.has(thread)) {
      void this.#dismiss(thread)
    } else {
      this.#idle.push(thread)
      this.#alarms.setAfter(thread, idleMs)
    }
    this.#serve()
  }

  async #dismiss(thread: WorkerThread): Promise<void> {
    this.#discount(thread)
    await thread.end()
  }

  #discount(thread: WorkerThread): void {
    this.#alarms.cancel(thread)
    if (this.#threads.delete(thread)) this.#leaving.add(thread)
    const index = this.#idle.indexOf(thread)
    if (index >= 0) this.#idle.splice(index, 1)
  }
}
