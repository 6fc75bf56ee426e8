/** Daemons that record their calls, and end when the test lets them. */
import type { Stopped } from 'kopf'
import type { Lab } from '../support/lab.ts'
import { gate } from '../support/recording.ts'

interface Given {
  readonly stopped: Stopped
  readonly signal: AbortSignal
}

type Mark = 'started' | 'stopped' | 'cancelled' | 'ended'

/** A daemon that ignores `stopped` and its signal until `letGo` is called. */
export class Stubborn {
  /** The number of calls, and the maximum number of concurrent calls. */
  calls = 0
  most = 0
  running = 0
  /** The time of the last occurrence, by the clock of the lab. */
  readonly atMs: Partial<Record<Mark, number>> = {}
  reason: Stopped['reason']
  readonly #lab: Lab
  #ending = gate()

  constructor(lab: Lab) {
    this.#lab = lab
  }

  readonly fn = async ({ stopped, signal }: Given): Promise<void> => {
    this.calls += 1
    this.running += 1
    this.most = Math.max(this.most, this.running)
    this.#mark('started')
    void stopped.wait().then(() => {
      this.reason = stopped.reason
      this.#mark('stopped')
    })
    signal.addEventListener('abort', () => this.#mark('cancelled'))
    await this.#ending.opened
    this.running -= 1
    this.#mark('ended')
  }

  /** Ends the running calls; later calls wait for the next `letGo`. */
  letGo(): void {
    this.#ending.open()
    this.#ending = gate()
  }

  get isRunning(): boolean {
    return this.running > 0
  }

  #mark(what: Mark): void {
    this.atMs[what] = this.#lab.clock.now()
  }
}

/** How long it takes until the object is deleted, in milliseconds. */
export async function msUntilGone(lab: Lab, name: string): Promise<number> {
  const sinceMs = lab.clock.now()
  await lab.untilGone(name)
  return lab.clock.now() - sinceMs
}

/** On a real cluster, time passes by itself: a moment more than expected is accepted. */
export function isAbout(lab: Lab, actualMs: number | undefined, expectedMs: number): boolean {
  if (actualMs === undefined) return false
  return lab.isReal
    ? actualMs >= expectedMs - 20 && actualMs < expectedMs + 3000
    : actualMs >= expectedMs && actualMs <= expectedMs + 5
}
