/**
 * Logging in: one at a time, whoever asks for it, and with growing pauses where it does not help. Before the server has
 * accepted us once, credentials that do not work are the end of the operator; afterwards it keeps trying.
 */
import type { ApiError } from '../client/api-error.ts'
import type { ConnectionInfo } from '../client/credentials.ts'
import { describeError } from '../core/handling/outcomes.ts'
import { Backoff } from '../core/watching/backoff.ts'
import { LoginError } from '../errors.ts'
import type { Clock } from '../util/clock.ts'
import type { Logger } from '../util/log.ts'
import type { Login } from './login.ts'

export interface AuthenticatorOptions {
  readonly login: Login
  readonly clock: Clock
  readonly logger: Logger
  /** For the first login. */
  readonly starting: AbortSignal
  /** Aborted when there is no time left for pauses and attempts. */
  readonly stopping: AbortSignal
  /** Told when there are no credentials, and will not be any. */
  readonly onLost: (error: unknown) => void
}

interface Receiver {
  /** False where nothing of it can be used; throws where it cannot be read. */
  take(found: ReadonlyMap<string, ConnectionInfo>): boolean
  /** What was refused may be tried again. */
  forgive(): void
}

interface Failure {
  readonly error: unknown
  readonly why: string
  readonly isFinal: boolean
}

/** The pause before the second login in a row; then twice as long each time, up to half a minute. */
const firstPauseMs = 1000

/** Where credentials are refused sooner after a second login than this, although they were accepted, there is a pause. */
const settledMs = 10_000

/** So many logins in a row may be of no use with a server that has never accepted anything. */
const mostAtFirst = 2

export class Authenticator {
  readonly #options: AuthenticatorOptions
  readonly #receiver: Receiver
  readonly #backoff = new Backoff(Math.random)
  #loggingIn: Promise<void> | undefined
  #hasLoggedIn = false
  /** When the last one but the first has succeeded. */
  #againMs = Number.NEGATIVE_INFINITY
  /** How many logins in a row have been of no use. */
  #inARow = 0
  #wasAccepted = false
  #isAccepted = false

  constructor(options: AuthenticatorOptions, receiver: Receiver) {
    this.#options = options
    this.#receiver = receiver
  }

  /** The server has let us in with what the last login gave. */
  accepted(): void {
    this.#wasAccepted = true
    this.#isAccepted = true
  }

  /**
   * `refusal` is what the server has said of the last credentials, if that is why. Resolves when there are others to use;
   * rejects where there are none at first, and where trying on is of no use.
   */
  logIn(refusal: ApiError | undefined): Promise<void> {
    this.#loggingIn ??= this.#authenticate(refusal).finally(() => (this.#loggingIn = undefined))
    return this.#loggingIn
  }

  async #authenticate(refusal: ApiError | undefined): Promise<void> {
    const { clock, logger } = this.#options
    if (this.#isAccepted) this.#startAnew(refusal)
    if (!this.#wasAccepted && this.#inARow >= mostAtFirst) this.#giveUp(this.#ranOut(refusal))
    const isFirst = !this.#hasLoggedIn
    const title = isFirst ? 'Initial authentication' : 'Re-authentication'
    for (;;) {
      if (!isFirst) await this.#pause(title)
      this.#isAccepted = false
      const failure = await this.#attempt(title, refusal)
      if (failure === undefined) {
        this.#hasLoggedIn = true
        if (!isFirst) this.#againMs = clock.now()
        return
      }
      logger.warn(`${title} has failed: ${failure.why}`)
      if (this.#isOver(failure)) this.#giveUp(failure.error)
    }
  }

  #giveUp(error: unknown): never {
    this.#options.onLost(error)
    throw error
  }

  /** The last login was of use: pauses are short again, and there is none after credentials that have merely expired. */
  #startAnew(refusal: ApiError | undefined): void {
    const isSettled = refusal === undefined || this.#options.clock.now() - this.#againMs >= settledMs
    this.#inARow = isSettled ? 0 : 1
    this.#backoff.reset()
  }

  #isOver({ isFinal }: Failure): boolean {
    return isFinal || !this.#wasAccepted || this.#options.stopping.aborted
  }

  async #pause(title: string): Promise<void> {
    const { clock, logger, stopping } = this.#options
    this.#inARow += 1
    if (this.#inARow === 1) return
    const delayMs = this.#backoff.next(firstPauseMs)
    logger.info(`${title} will be tried again in ${(delayMs / 1000).toFixed(1)} seconds.`)
    await clock.sleep(delayMs, stopping).catch(() => {})
    // A server that has just started may have refused what it accepts now.
    if (!stopping.aborted) this.#receiver.forgive()
  }

  /** Undefined where there is something to use now. */
  async #attempt(title: string, refusal: ApiError | undefined): Promise<Failure | undefined> {
    const { login, logger, starting, stopping } = this.#options
    const isQuiet = !login.isAsked && !this.#hasLoggedIn
    if (!isQuiet) logger.info(`${title} has been initiated.`)
    try {
      const { found, error, isFinal } = await login.ask(this.#hasLoggedIn ? stopping : starting)
      if (this.#receiver.take(found)) {
        if (!isQuiet) logger.info(`${title} has finished.`)
        return undefined
      }
      if (found.size === 0) return { error, isFinal, why: 'no credentials were retrieved from the login handlers.' }
      const why = 'all that were retrieved have expired or were refused.'
      return { error: this.#ranOut(refusal), isFinal: false, why }
    } catch (error) {
      return { error, isFinal: false, why: describeError(error) }
    }
  }

  #ranOut(cause: ApiError | undefined): LoginError {
    return new LoginError(
      `Ran out of valid credentials: the API server refuses those of ${this.#options.login.title}, and there are no others; ` +
        'check that they are for this cluster and have not expired',
      { cause },
    )
  }
}
