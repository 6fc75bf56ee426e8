/**
 * The work queue of a controller: merges duplicate keys, never runs the same key twice at once, and runs a few keys
 * concurrently. A rejected sync is retried with exponential backoff, as in the real controllers. Keys can be added for a later
 * time.
 */

import { nextTurn } from '../../../util/async/clock.ts'
import { TimerQueue } from '../../../util/async/timer-queue.ts'
import type { ServerContext } from '../../call.ts'
import { StatusError } from '../../status.ts'
import { ControllerFailures } from '../failures.ts'

const maxWorkers = 5
const firstDelayMs = 5
const maxDelayMs = 1_000_000

/** Keys processed before the event loop gets a turn. */
const keysPerTurn = 100

/** Reconciles the object with this key. Rejects if a write is rejected. */
export type Sync = (key: string) => Promise<void>

export class WorkQueue {
  readonly #parts: ServerContext
  readonly #sync: Sync
  readonly #waiting = new Set<string>()

  /** Keys being processed. A key added meanwhile waits until its current run ends. */
  readonly #active = new Set<string>()
  readonly #rejections = new Map<string, number>()
  readonly #alarms: TimerQueue<string>
  readonly #failures: ControllerFailures<string>
  #workers = 0
  #doneInTurn = 0

  constructor(parts: ServerContext, sync: Sync, controller: string) {
    this.#parts = parts
    this.#failures = new ControllerFailures(parts, controller)
    this.#sync = sync
    this.#alarms = new TimerQueue(parts.clock, (key) => this.add(key), parts.closing)
  }

  /** Runs soon, but never synchronously within the write that caused it. */
  add(key: string): void {
    this.#waiting.add(key)
    if (this.#workers === maxWorkers || this.#parts.closing.aborted) return
    this.#workers += 1
    void this.#work()
  }

  /** Adds the key at a wall-clock time; the earlier of two times applies. */
  addAt(key: string, atMs: number): void {
    this.#alarms.set(key, atMs)
  }

  async #work(): Promise<void> {
    // A skipping clock must not skip time while keys are pending.
    const over = this.#parts.clock.attend?.('call')
    // Waits a macrotask, so that several writes of the same key lead to one sync.
    await nextTurn()
    for (let key = this.#next(); key !== undefined; key = this.#next()) {
      this.#active.add(key)
      await this.#attempt(key)
      this.#active.delete(key)
      await this.#yieldTurn()
    }
    this.#workers -= 1
    over?.()
  }

  #next(): string | undefined {
    if (this.#parts.closing.aborted) return undefined
    for (const key of this.#waiting) {
      if (this.#active.has(key)) continue
      this.#waiting.delete(key)
      return key
    }
    return undefined
  }

  async #attempt(key: string): Promise<void> {
    try {
      await this.#sync(key)
      this.#rejections.delete(key)
      this.#failures.succeed(key)
    } catch (error) {
      if (this.#parts.closing.aborted) return
      if (!(error instanceof StatusError)) {
        void this.#failures.fail(key, error).then((isDue) => isDue && this.add(key))
        return
      }
      // Another writer changed the object: retry at once with the new revision, without backoff.
      if (error.reason === 'Conflict') {
        this.#waiting.add(key)
        return
      }
      const times = this.#rejections.get(key) ?? 0
      this.#rejections.set(key, times + 1)
      this.#alarms.setAfter(key, Math.min(firstDelayMs * 2 ** times, maxDelayMs))
    }
  }

  async #yieldTurn(): Promise<void> {
    this.#doneInTurn += 1
    if (this.#doneInTurn < keysPerTurn) return
    this.#doneInTurn = 0
    await nextTurn()
  }
}
