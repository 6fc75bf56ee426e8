/**
 * The keys that a controller has to look at: each once however often it was asked for, never twice at the same time, a few
 * side by side. What is refused is tried again, later and later, as the real controllers do. What is due later is an alarm.
 */
import { Alarms } from '../../../util/alarms.ts'
import { nextTurn } from '../../../util/clock.ts'
import type { Parts } from '../../call.ts'
import { StatusError } from '../../status.ts'
import { ControllerFailures } from '../failures.ts'

const mostWorkers = 5
const firstDelayMs = 5
const longestDelayMs = 1_000_000

/** So many are worked on before others get their turn. */
const keysPerTurn = 100

/** Brings what the key names to where it should be. Rejects where a write is refused. */
export type Sync = (key: string) => Promise<void>

export class WorkQueue {
  readonly #parts: Parts
  readonly #sync: Sync
  readonly #waiting = new Set<string>()

  /** Those that are worked on: a key that comes again meanwhile waits for the end of it. */
  readonly #active = new Set<string>()
  readonly #refusals = new Map<string, number>()
  readonly #alarms: Alarms<string>
  readonly #failures: ControllerFailures<string>
  #workers = 0
  #doneInTurn = 0

  constructor(parts: Parts, sync: Sync, controller: string) {
    this.#parts = parts
    this.#failures = new ControllerFailures(parts, controller)
    this.#sync = sync
    this.#alarms = new Alarms(parts.clock, (key) => this.add(key), parts.closing)
  }

  /** Soon, and never in the turn of the write that is the reason. */
  add(key: string): void {
    this.#waiting.add(key)
    if (this.#workers === mostWorkers || this.#parts.closing.aborted) return
    this.#workers += 1
    void this.#work()
  }

  /** At a time of day; the earlier of two times counts. */
  addAt(key: string, atMs: number): void {
    this.#alarms.set(key, atMs)
  }

  async #work(): Promise<void> {
    // A clock that skips time must not do so while something is to be done.
    const over = this.#parts.clock.attend?.('call')
    // In the next turn: what is written at once is looked at once.
    await nextTurn()
    for (let key = this.#next(); key !== undefined; key = this.#next()) {
      this.#active.add(key)
      await this.#attempt(key)
      this.#active.delete(key)
      await this.#giveWay()
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
      this.#refusals.delete(key)
      this.#failures.succeed(key)
    } catch (error) {
      if (this.#parts.closing.aborted) return
      if (!(error instanceof StatusError)) {
        void this.#failures.fail(key, error).then((isDue) => isDue && this.add(key))
        return
      }
      // Somebody was faster: there is something new to be looked at, and no reason to wait.
      if (error.reason === 'Conflict') {
        this.#waiting.add(key)
        return
      }
      const times = this.#refusals.get(key) ?? 0
      this.#refusals.set(key, times + 1)
      this.#alarms.setAfter(key, Math.min(firstDelayMs * 2 ** times, longestDelayMs))
    }
  }

  async #giveWay(): Promise<void> {
    this.#doneInTurn += 1
    if (this.#doneInTurn < keysPerTurn) return
    this.#doneInTurn = 0
    await nextTurn()
  }
}
