/**
 * Repeats the discovery of single API groups: soon after a CRD has changed, a second time a moment later (the API server reports
 * a change before it serves it), and then with growing delays until all expected resources are served.
 */
import type { Clock } from '../util/async/clock.ts'
import { Semaphore } from '../util/async/semaphore.ts'
import type { TaskGroup } from '../util/async/task-group.ts'

/**
 * `settled`: all resources of the group's CRDs are served. `waiting`: an expected resource is not served, and may never be.
 * `failed`: the discovery request failed and must be repeated.
 */
export type RefreshResult = 'settled' | 'waiting' | 'failed'

export interface GroupRefreshOptions {
  readonly clock: Clock
  readonly tasks: TaskGroup
  /** Runs the discovery of a group. Rejects only with the reason of the signal. */
  readonly refresh: (group: string, signal: AbortSignal) => Promise<RefreshResult>
}

/** Delays before each attempt. The first one also combines changes that arrive together. */
const delaysMs = [100, 1000, 2000, 4000, 8000, 15_000, 30_000, 60_000, 120_000, 300_000]

/** The number of groups that are refreshed at the same time: an upgrade may change hundreds of groups. */
const maxConcurrent = 5

/** The index of the second attempt. There are at least two, because API servers may lag behind. */
const secondRefresh = 1

/**
 * After this attempt (about a minute), the refresh no longer waits for expected resources: a later change is reported by the CRD
 * watch.
 */
const lastWaiting = 6

export class GroupRefresh {
  readonly #options: GroupRefreshOptions
  /** One controller for each group that is being refreshed. It is aborted to start the refresh again. */
  readonly #running = new Map<string, AbortController>()
  readonly #slots = new Semaphore(maxConcurrent)

  constructor(options: GroupRefreshOptions) {
    this.#options = options
  }

  /** Called when a CRD of the group has changed: starts the refresh from the first attempt. */
  begin(group: string): void {
    this.#start(group, 0)
  }

  /** Called when the discovery of the group has failed: repeats it, unless a refresh is running. */
  retry(group: string): void {
    if (!this.#running.has(group)) this.#start(group, secondRefresh)
  }

  #start(group: string, attempt: number): void {
    this.#running.get(group)?.abort()
    const own = new AbortController()
    this.#running.set(group, own)
    const { tasks } = this.#options
    tasks.run(async (ending) => {
      const stop = () => own.abort()
      ending.addEventListener('abort', stop, { once: true, signal: own.signal })
      try {
        await this.#refresh(group, attempt, own.signal)
      } catch (error) {
        if (!own.signal.aborted) throw error
      }
      // A refresh that was started again has its own entry by now.
      if (this.#running.get(group) === own) this.#running.delete(group)
      own.abort()
    })
  }

  async #refresh(group: string, first: number, signal: AbortSignal): Promise<void> {
    for (let attempt = first; ; attempt += 1) {
      await this.#options.clock.sleep(delaysMs[Math.min(attempt, delaysMs.length - 1)]!, signal)
      const result = await this.#refreshInSlot(group, signal)
      if (result === 'settled' && attempt >= secondRefresh) return
      if (result === 'waiting' && attempt >= lastWaiting) return
    }
  }

  async #refreshInSlot(group: string, signal: AbortSignal): Promise<RefreshResult> {
    const end = await this.#slots.acquire()
    try {
      signal.throwIfAborted()
      return await this.#options.refresh(group, signal)
    } finally {
      end()
    }
  }
}
