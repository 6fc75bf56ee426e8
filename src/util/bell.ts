/** For one who waits until something has happened, or for so long: what happens while nobody waits is not missed. */
import { type Clock, noLongerNeeded } from './clock.ts'

export class Bell {
  #hasRung = false
  #wake: () => void = () => {}

  ring(): void {
    this.#hasRung = true
    this.#wake()
  }

  /** Resolves when it has rung since the last time, or after so many milliseconds; Infinity for no limit. */
  async wait(clock: Clock, delayMs: number): Promise<void> {
    if (!this.#hasRung) {
      const rung = new AbortController()
      const heard = new Promise<void>((resolve) =>
        rung.signal.addEventListener('abort', () => resolve(), { once: true }),
      )
      this.#wake = () => rung.abort(noLongerNeeded)
      await (delayMs === Infinity ? heard : clock.sleep(delayMs, rung.signal).catch(() => {}))
    }
    this.#hasRung = false
  }
}
