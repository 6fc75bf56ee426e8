/** Daemons that tell what becomes of them, and end when the test says so. */
import type { Stopped } from 'kopf'
import type { Lab } from '../support/lab.ts'
import { gate } from '../support/recording.ts'

interface Given {
  readonly stopped: Stopped
  readonly signal: AbortSignal
}

type Mark = 'started' | 'stopped' | 'cancelled' | 'ended'

/** Takes no notice of anything until it is let go. */
export class Stubborn {
  /** How often it was called, and how many of its calls were under way at once at most. */
  calls = 0
  most = 0
  running = 0
  /** When it last happened, by the clock of the lab. */
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

  /** Those that run end; later ones wait for the next time. */
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

/** How long an object took to go, from now on; in milliseconds. */
export async function msUntilGone(lab: Lab, name: string): Promise<number> {
  const sinceMs = lab.clock.now()
  await lab.untilGone(name)
  return lab.clock.now() - sinceMs
}

/** Where time passes by itself, a moment more than expected is as good. */
export function isAbout(lab: Lab, actualMs: number | undefined, expectedMs: number): boolean {
  if (actualMs === undefined) return false
  return lab.isReal
    ? actualMs >= expectedMs - 20 && actualMs < expectedMs + 3000
    : actualMs >= expectedMs && actualMs <= expectedMs + 5
}
