/**
 * Whether the operator stands back: it does while anybody has a reason. Streams come here to be ended and begun again; what
 * else follows for the objects is in pausing.ts. Knows nothing of those who have the reasons.
 */
import { setMaxListeners } from 'node:events'
import { noLongerNeeded } from '../util/clock.ts'
import { Gate } from '../util/gate.ts'

export class Pause {
  /** In words, for the log. */
  readonly #reasons = new Set<string>()
  readonly #listeners: Array<() => void> = []
  /** Aborted while the operator is paused; a new one each time it goes on. */
  #activity = createActivity()
  /** Closed while the operator is paused; a new one each time it is. */
  #resumed = new Gate()

  get isPaused(): boolean {
    return this.#reasons.size > 0
  }

  get reasons(): readonly string[] {
    return [...this.#reasons]
  }

  /** Takes effect before it returns: nothing comes from any stream any more. */
  hold(reason: string): void {
    const wasPaused = this.isPaused
    this.#reasons.add(reason)
    if (wasPaused) return
    this.#resumed = new Gate()
    this.#activity.abort(noLongerNeeded)
    this.#tell()
  }

  release(reason: string): void {
    if (!this.#reasons.delete(reason) || this.isPaused) return
    this.#activity = createActivity()
    this.#tell()
    this.#resumed.open()
  }

  /** Called when the operator is paused, and when it goes on. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Begins the work whenever the operator is not paused, and ends it when it is; until the signal is aborted. */
  async whileActive(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.isPaused) await this.#resumed.pass(signal).catch(() => {})
      else await work(AbortSignal.any([signal, this.#activity.signal]))
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

/** As many listen as there are streams: that is no leak. */
function createActivity(): AbortController {
  const activity = new AbortController()
  setMaxListeners(0, activity.signal)
  return activity
}
