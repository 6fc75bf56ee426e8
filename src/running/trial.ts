/** After a refusal, one request goes first, to see whether the new credentials are any better; the others wait for its answer. */
import { type Clock, noLongerNeeded } from '../util/clock.ts'
import { Gate } from '../util/gate.ts'

/** One that gets no answer at all is not waited for any longer: then another one may try. */
const patienceMs = 5000

export class Trial {
  readonly #gate = new Gate()
  readonly #over = new AbortController()

  readonly #lease: object

  constructor(lease: object, clock: Clock) {
    this.#lease = lease
    clock.sleep(patienceMs, this.#over.signal).then(
      () => this.#gate.open(),
      () => {},
    )
  }

  get isOver(): boolean {
    return this.#gate.isOpen
  }

  /** Something has become of a request with these credentials. */
  end(lease: object): void {
    if (lease !== this.#lease) return
    this.#over.abort(noLongerNeeded)
    this.#gate.open()
  }

  /** Resolves when it is over; rejects with the reason of the signal if that comes first. */
  wait(signal: AbortSignal | undefined): Promise<void> {
    return this.#gate.pass(signal)
  }
}
