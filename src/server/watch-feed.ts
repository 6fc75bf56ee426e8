/**
 * Stands between the store and one watch where a webhook converts: what the watch begins with and every change wait here for
 * their conversion, and for those before them. What cannot be converted ends the watch, after all that came before it.
 */
import { internalError, StatusError } from './status.ts'
import type { Change } from './storage/stored.ts'
import type { WatchBeginning, WatchPlan, WatchStream } from './watch-stream.ts'

type Prepare = NonNullable<WatchPlan['prepare']>

export class WatchFeed {
  readonly #stream: WatchStream
  readonly #prepare: Prepare
  readonly #limit: number

  /** In the order they happened; the first of them may be on their way to the webhook. */
  #waiting: Change[] = []
  #isBusy = true

  /** No more may wait than for a client that does not read. */
  constructor(stream: WatchStream, prepare: Prepare, limit: number) {
    this.#stream = stream
    this.#prepare = prepare
    this.#limit = limit
  }

  /** To be called once, and at first. */
  async begin({ initial, missed }: WatchBeginning): Promise<void> {
    if (await this.#attempt([...initial.map(asAddition), ...missed])) this.#stream.begin()
    this.#isBusy = false
    await this.#drain()
  }

  /** To be called for every change of the collection, in order. */
  hear(change: Change): void {
    this.#waiting.push(change)
    if (this.#waiting.length > this.#limit) this.#stream.cut()
    void this.#drain()
  }

  async #drain(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    while (this.#waiting.length > 0) await this.#handOn(this.#waiting.splice(0))
    this.#isBusy = false
  }

  async #handOn(changes: readonly Change[]): Promise<void> {
    if (this.#stream.ended.aborted) return
    const isOne = changes.length === 1
    if (await this.#attempt(changes, isOne)) for (const change of changes) this.#stream.hear(change)
    // A webhook refuses all that it is asked for together: one by one, it shows which it was.
    else if (!isOne) for (const change of changes) await this.#handOn([change])
  }

  /** Whether they are prepared; if not, the watch fails, unless they are to be tried again. */
  async #attempt(changes: Parameters<Prepare>[0], isLast = true): Promise<boolean> {
    try {
      await this.#prepare(changes)
      return true
    } catch (error) {
      if (isLast) this.#stream.fail(error instanceof StatusError ? error : internalError(error))
      return false
    }
  }
}

function asAddition(current: Change['current']): Omit<Change, 'version'> {
  return { type: 'ADDED', current, previous: undefined }
}
