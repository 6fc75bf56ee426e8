/** One set of credentials in use: a transport with them, and the session over it. Let go when nobody uses it any more. */
import type { Session } from '../client/calls.ts'
import type { HttpsTransport } from '../client/transport.ts'
import type { Credential } from '../client/vault.ts'

export class Lease {
  readonly credential: Credential
  readonly session: Session
  readonly #transport: HttpsTransport
  readonly #onClosed: () => void
  /** Calls that may still make a request, their pauses between attempts included. */
  #users = 0
  #isRetired = false

  constructor(credential: Credential, transport: HttpsTransport, session: Session, onClosed: () => void) {
    this.credential = credential
    this.session = session
    this.#transport = transport
    this.#onClosed = onClosed
  }

  enter(): void {
    this.#users += 1
  }

  leave(): void {
    this.#users -= 1
    if (this.#isRetired) this.#letGo()
  }

  /** Nobody enters any more. What is under way goes on, streams too: the server has let them in. */
  retire(): void {
    if (this.#isRetired) return
    this.#isRetired = true
    this.#letGo()
  }

  async close(): Promise<void> {
    await this.#transport.close()
    this.#onClosed()
  }

  #letGo(): void {
    if (this.#users === 0) void this.#transport.retire().then(this.#onClosed)
  }
}
