/** Waiting for an event: `Latch` is opened once for all waiting callers, `Notifier` wakes one caller again and again. */
import { type Clock, noLongerNeeded } from './clock.ts'

/** Closed until `open` is called, then open for good. */
export class Latch {
  readonly opened: Promise<void>
  #isOpen = false
  #resolve: () => void = () => {}

  constructor() {
    this.opened = new Promise((resolve) => (this.#resolve = resolve))
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  open(): void {
    this.#isOpen = true
    this.#resolve()
  }

  /** Resolves when the latch is open; rejects with the signal's reason if it is aborted first. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isOpen || signal === undefined) return this.opened
    const done = new AbortController()
    const aborted = new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: done.signal })
    })
    try {
      await Promise.race([this.opened, aborted])
    } finally {
      done.abort(noLongerNeeded)
    }
  }
}

/** Wakes one caller. A notification while no caller waits is kept for the next `wait`. */
export class Notifier {
  #isNotified = false
  #wake: () => void = () => {}

  notify(): void {
    this.#isNotified = true
    this.#wake()
  }

  /** Resolves after a notification since the last `wait`, or after `delayMs`; Infinity for no limit. */
  async wait(clock: Clock, delayMs: number): Promise<void> {
    if (!this.#isNotified) {
      const wake = new AbortController()
      const notified = new Promise<void>((resolve) =>
        wake.signal.addEventListener('abort', () => resolve(), { once: true }),
      )
      this.#wake = () => wake.abort(noLongerNeeded)
      await (delayMs === Infinity ? notified : clock.sleep(delayMs, wake.signal).catch(() => {}))
    }
    this.#isNotified = false
  }
}
