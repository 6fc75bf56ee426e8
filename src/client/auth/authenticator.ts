/**
 * Runs the logins for authenticated-transport.ts: one at a time, with a backoff while they do not help. Before the server has accepted
 * credentials once, a failed login ends the operator; afterwards the login is retried for as long as the operator runs.
 */

import { LoginError } from '../../errors.ts'
import { Backoff, equalJitter, exponential } from '../../util/async/backoff.ts'
import { type Clock, trySleep } from '../../util/async/clock.ts'
import { describeError } from '../../util/log/describe-error.ts'
import type { Logger } from '../../util/log/log.ts'
import type { ApiError } from '../api-error.ts'
import type { ConnectionInfo } from './connection-info.ts'

/** The result of one login. */
export interface LoginOutcome {
  /** The credentials by the id of the login handler. */
  readonly found: ReadonlyMap<string, ConnectionInfo>
  /** The error to throw if there are no credentials. */
  readonly error: LoginError
  /** No handler has returned credentials, and one has failed permanently: another login would not help. */
  readonly isFinal: boolean
}

/** The way in which an operator obtains its credentials: from the run options, of the login handlers, of the service account or of the kubeconfig. */
export interface LoginMethod {
  /** The source of the credentials, for messages: `the login handlers`. */
  readonly title: string
  /** Whether another login may return other credentials. False for a fixed `connection`. */
  readonly isRenewable: boolean
  /** Rejects if the credentials cannot be read, and with the reason of the signal. */
  run(signal: AbortSignal): Promise<LoginOutcome>
}

export interface AuthenticatorOptions {
  readonly login: LoginMethod
  readonly clock: Clock
  readonly logger: Logger
  /** Aborts the first login. */
  readonly starting: AbortSignal
  /** Aborts later logins and the delays between them. */
  readonly stopping: AbortSignal
  /** Called when the login has failed for good. */
  readonly onLost: (error: unknown) => void
}

interface CredentialReceiver {
  /** Adds credentials by login. False if none is usable; throws if none can be read. */
  accept(found: ReadonlyMap<string, ConnectionInfo>): boolean
  /** Allows credentials that the server rejected to be used again. */
  clearRejected(): void
}

interface LoginFailure {
  readonly error: unknown
  readonly why: string
  readonly isFinal: boolean
}

/** Delays from the second login in a row on. */
const loginDelays = exponential({ firstMs: 1000, maxMs: 30_000, jitter: equalJitter(Math.random) })

/** If credentials of a re-login are rejected sooner than this after it, the next login is delayed although they were accepted. */
const minAcceptedMs = 10_000

/** Maximum number of consecutive logins without success for a server that has never accepted credentials. */
const maxInitialAttempts = 2

export class Authenticator {
  readonly #options: AuthenticatorOptions
  readonly #receiver: CredentialReceiver
  readonly #backoff = new Backoff(loginDelays)
  #loggingIn: Promise<void> | undefined
  #hasLoggedIn = false
  /** When the last login other than the first succeeded. */
  #lastReloginMs = Number.NEGATIVE_INFINITY
  /** Number of logins since the server last accepted credentials for longer than a moment. */
  #consecutiveLogins = 0
  #wasAccepted = false
  #isAccepted = false

  constructor(options: AuthenticatorOptions, receiver: CredentialReceiver) {
    this.#options = options
    this.#receiver = receiver
  }

  /** Called when the server has accepted the credentials of the last login. */
  accepted(): void {
    this.#wasAccepted = true
    this.#isAccepted = true
  }

  /**
   * Logs in, or joins the running login. `unauthorized` is the 401 that made it necessary; undefined for the first login and for expired
   * credentials. Resolves when there are usable credentials; rejects if the login has failed for good.
   */
  logIn(unauthorized: ApiError | undefined): Promise<void> {
    this.#loggingIn ??= this.#authenticate(unauthorized).finally(() => (this.#loggingIn = undefined))
    return this.#loggingIn
  }

  async #authenticate(unauthorized: ApiError | undefined): Promise<void> {
    const { clock, logger } = this.#options
    if (this.#isAccepted) this.#resetAttempts(unauthorized)
    if (!this.#wasAccepted && this.#consecutiveLogins >= maxInitialAttempts)
      this.#fail(this.#noCredentialsError(unauthorized))
    const isFirst = !this.#hasLoggedIn
    const title = isFirst ? 'Initial authentication' : 'Re-authentication'
    for (;;) {
      if (!isFirst) await this.#pause(title)
      this.#isAccepted = false
      const failure = await this.#attempt(title, unauthorized)
      if (failure === undefined) {
        this.#hasLoggedIn = true
        if (!isFirst) this.#lastReloginMs = clock.now()
        return
      }
      logger.warn(`${title} has failed: ${failure.why}`)
      if (this.#isFatal(failure)) this.#fail(failure.error)
    }
  }

  #fail(error: unknown): never {
    this.#options.onLost(error)
    throw error
  }

  /** Restarts the backoff after a successful login. Without a 401 (expired credentials), the next login is not delayed. */
  #resetAttempts(unauthorized: ApiError | undefined): void {
    const isSettled = unauthorized === undefined || this.#options.clock.now() - this.#lastReloginMs >= minAcceptedMs
    this.#consecutiveLogins = isSettled ? 0 : 1
    this.#backoff.reset()
  }

  #isFatal({ isFinal }: LoginFailure): boolean {
    return isFinal || !this.#wasAccepted || this.#options.stopping.aborted
  }

  async #pause(title: string): Promise<void> {
    const { clock, logger, stopping } = this.#options
    this.#consecutiveLogins += 1
    if (this.#consecutiveLogins === 1) return
    const delayMs = this.#backoff.next()
    logger.info(`${title} will be tried again in ${(delayMs / 1000).toFixed(1)} seconds.`)
    const isAwake = await trySleep(clock, delayMs, stopping)
    // A server that has just started may reject credentials that it accepts later.
    if (isAwake) this.#receiver.clearRejected()
  }

  /** One login. Returns undefined if there are usable credentials afterwards. */
  async #attempt(title: string, unauthorized: ApiError | undefined): Promise<LoginFailure | undefined> {
    const { login, logger, starting, stopping } = this.#options
    const isQuiet = !login.isRenewable && !this.#hasLoggedIn
    if (!isQuiet) logger.info(`${title} has been initiated.`)
    try {
      const { found, error, isFinal } = await login.run(this.#hasLoggedIn ? stopping : starting)
      if (this.#receiver.accept(found)) {
        if (!isQuiet) logger.info(`${title} has finished.`)
        return undefined
      }
      if (found.size === 0) return { error, isFinal, why: 'no credentials were retrieved from the login handlers.' }
      const why = 'all that were retrieved have expired or were refused.'
      return { error: this.#noCredentialsError(unauthorized), isFinal: false, why }
    } catch (error) {
      return { error, isFinal: false, why: describeError(error) }
    }
  }

  #noCredentialsError(cause: ApiError | undefined): LoginError {
    return new LoginError(
      `Ran out of valid credentials: the API server refuses those of ${this.#options.login.title}, and there are no others; ` +
        'check that they are for this cluster and have not expired',
      { cause },
    )
  }
}
