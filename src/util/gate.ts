/** A gate that is closed until somebody opens it, once and for all. */
import { noLongerNeeded } from './clock.ts'

export class Gate {
  readonly opened: Promise<void>
  #isOpen = false
  #letIn: () => void = () => {}

  constructor() {
    this.opened = new Promise((resolve) => (this.#letIn = resolve))
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  open(): void {
    this.#isOpen = true
    this.#letIn()
  }

  /** Resolves when it is opened; rejects with the reason of the signal if that comes first. */
  async pass(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isOpen || signal === undefined) return this.opened
    const given = new AbortController()
    const aborted = new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: given.signal })
    })
    try {
      await Promise.race([this.opened, aborted])
    } finally {
      given.abort(noLongerNeeded)
    }
  }
}
