/**
 * Retries after bugs of a controller, that is, exceptions other than a rejected write. The exception is logged with its stack
 * and the key is retried with exponential backoff. Other keys, other controllers and the server process continue.
 */
import type { ServerContext } from '../call.ts'

const firstDelayMs = 1000
const maxDelayMs = 300_000

export class ControllerFailures<K> {
  readonly #parts: Pick<ServerContext, 'clock' | 'closing' | 'log'>
  readonly #controller: string

  /** Consecutive failures by key. */
  readonly #counts = new Map<K, number>()

  constructor(parts: Pick<ServerContext, 'clock' | 'closing' | 'log'>, controller: string) {
    this.#parts = parts
    this.#controller = controller
  }

  succeed(key: K): void {
    if (this.#counts.size > 0) this.#counts.delete(key)
  }

  /** Logs the exception. Resolves with true when the key is due again, or with false if the server closes first. */
  async fail(key: K, error: unknown): Promise<boolean> {
    const { clock, closing, log } = this.#parts
    const count = this.#counts.get(key) ?? 0
    this.#counts.set(key, count + 1)
    const delayMs = Math.min(firstDelayMs * 2 ** count, maxDelayMs)
    const what = `The controller "${this.#controller}" of the embedded API server failed on "${String(key)}"`
    log.error(`${what}: it will try again in ${delayMs / 1000} s`, { error })
    try {
      await clock.sleep(delayMs, closing, { isBackground: true })
      return true
    } catch {
      return false
    }
  }
}
