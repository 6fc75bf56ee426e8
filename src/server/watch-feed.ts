/**
 * Passes changes from the store to one watch of a resource with a conversion webhook: the initial state and each change wait for their
 * conversion, in order. A change that cannot be converted ends the watch, after all earlier changes.
 */
import { internalError, StatusError } from './status.ts'
import type { StoreChange } from './storage/stored.ts'
import type { WatchBeginning, WatchPlan, WatchStream } from './watch-stream.ts'

type Prepare = NonNullable<WatchPlan['prepare']>

export class WatchFeed {
  readonly #stream: WatchStream
  readonly #prepare: Prepare
  readonly #limit: number

  /** Changes in order; the conversion of the first ones may be in progress. */
  #waiting: StoreChange[] = []
  #isBusy = true

  /** `limit` is the limit of pending changes of a watch whose client does not read. */
  constructor(stream: WatchStream, prepare: Prepare, limit: number) {
    this.#stream = stream
    this.#prepare = prepare
    this.#limit = limit
  }

  /** Must be called once, before any change. */
  async begin({ initial, missed }: WatchBeginning): Promise<void> {
    if (await this.#attempt([...initial.map(asAddition), ...missed])) this.#stream.begin()
    this.#isBusy = false
    await this.#drain()
  }

  /** Must be called for every change of the collection, in order. */
  onChange(change: StoreChange): void {
    this.#waiting.push(change)
    if (this.#waiting.length > this.#limit) this.#stream.cut()
    void this.#drain()
  }

  async #drain(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    while (this.#waiting.length > 0) await this.#deliver(this.#waiting.splice(0))
    this.#isBusy = false
  }

  async #deliver(changes: readonly StoreChange[]): Promise<void> {
    if (this.#stream.ended.aborted) return
    const isOne = changes.length === 1
    if (await this.#attempt(changes, isOne)) for (const change of changes) this.#stream.onChange(change)
    // A webhook rejects all objects of a request together: convert one by one to find the failing one.
    else if (!isOne) for (const change of changes) await this.#deliver([change])
  }

  /** True if the changes are converted. If not, the watch fails, unless the caller retries them one by one. */
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

function asAddition(current: StoreChange['current']): Omit<StoreChange, 'version'> {
  return { type: 'ADDED', current, previous: undefined }
}
