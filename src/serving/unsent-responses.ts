/**
 * Limits the memory of responses that clients do not read: beyond the limit, the oldest one is given up and its client disconnected. Used by the
 * metrics endpoint and by the dashboard.
 */
import type { ServerResponse } from 'node:http'

export class UnsentResponses {
  /** In the order in which they were ended, with their size in bytes. */
  readonly #responses = new Map<ServerResponse, number>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Called with a response whose body was handed over to Node, but perhaps not yet to the operating system. */
  add(response: ServerResponse, bytes: number): void {
    if (response.closed || response.destroyed) return
    this.#responses.set(response, bytes)
    this.#bytes += bytes
    response.once('close', () => this.#remove(response))
    for (const oldest of this.#responses.keys()) {
      if (this.#bytes <= this.#maxBytes || this.#responses.size === 1) break
      this.#remove(oldest)
      oldest.destroy()
    }
  }

  #remove(response: ServerResponse): void {
    this.#bytes -= this.#responses.get(response) ?? 0
    this.#responses.delete(response)
  }
}
