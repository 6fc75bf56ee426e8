/**
 * Looking at single groups of the API again: soon after something has changed in them, once more a moment later, since servers
 * tell of a change before they serve it, and then for as long as it is not as it should be, slower and slower.
 */
import type { Clock } from '../util/async/clock.ts'
import { Semaphore } from '../util/async/semaphore.ts'
import type { TaskGroup } from '../util/async/task-group.ts'

/**
 * `settled`: it is as it should be. `waiting`: what is expected is not there, and may never be.
 * `failed`: nobody can say, and it has to be found out.
 */
export type RefreshResult = 'settled' | 'waiting' | 'failed'

export interface GroupRefreshOptions {
  readonly clock: Clock
  readonly tasks: TaskGroup
  /** Rejects only with the reason of the signal. */
  readonly look: (group: string, signal: AbortSignal) => Promise<RefreshResult>
}

/** The first one also gathers what comes in one go. */
const delaysMs = [100, 1000, 2000, 4000, 8000, 15_000, 30_000, 60_000, 120_000, 300_000]

/** So many groups are looked at at once: an upgrade may touch hundreds. */
const maxConcurrent = 5

/** Two looks at least, for the servers that are behind. */
const secondRefresh = 1

/** After about a minute, what is expected is not to be expected any more: a change would be told. */
const lastQueued = 6

export class GroupRefresh {
  readonly #options: GroupRefreshOptions
  /** One for each group that is being looked at: aborted to begin again. */
  readonly #under = new Map<string, AbortController>()
  readonly #turns = new Semaphore(maxConcurrent)

  constructor(options: GroupRefreshOptions) {
    this.#options = options
  }

  /** Something has changed in it. */
  begin(group: string): void {
    this.#start(group, 0)
  }

  /** It could not be looked at: it is tried again, unless that is under way. */
  retry(group: string): void {
    if (!this.#under.has(group)) this.#start(group, secondRefresh)
  }

  #start(group: string, attempt: number): void {
    this.#under.get(group)?.abort()
    const own = new AbortController()
    this.#under.set(group, own)
    const { tasks } = this.#options
    tasks.run(async (ending) => {
      const stop = () => own.abort()
      ending.addEventListener('abort', stop, { once: true, signal: own.signal })
      try {
        await this.#look(group, attempt, own.signal)
      } catch (error) {
        if (!own.signal.aborted) throw error
      }
      // Whoever was told to begin again has its own entry by now.
      if (this.#under.get(group) === own) this.#under.delete(group)
      own.abort()
    })
  }

  async #look(group: string, first: number, signal: AbortSignal): Promise<void> {
    for (let attempt = first; ; attempt += 1) {
      await this.#options.clock.sleep(delaysMs[Math.min(attempt, delaysMs.length - 1)]!, signal)
      const sight = await this.#lookInTurn(group, signal)
      if (sight === 'settled' && attempt >= secondRefresh) return
      if (sight === 'waiting' && attempt >= lastQueued) return
    }
  }
  async #lookInTurn(group: string, signal: AbortSignal): Promise<RefreshResult> {
    const end = await this.#turns.acquire()
    try {
      signal.throwIfAborted()
      return await this.#options.look(group, signal)
    } finally {
      end()
    }
  }
}
