/**
 * The way to the cluster. Each request is made with the best credentials there are; where the server does not accept them,
 * with the next ones, and where there are none left, the logins are asked anew, once for all who wait meanwhile.
 * The state is in client/vault.ts; here are its effects: transports, logins, pauses.
 */
import { ApiError, isUnauthorized } from '../client/api-error.ts'
import type { Session } from '../client/calls.ts'
import { ConnectionError } from '../client/connection-error.ts'
import { ConnectionInfo } from '../client/credentials.ts'
import { createHttpsTransport } from '../client/transport.ts'
import { type Credential, pickOne, toCredential, toRenewed, Vault } from '../client/vault.ts'
import { describeError } from '../core/handling/outcomes.ts'
import { KopfError } from '../errors.ts'
import { withAnySignal } from '../util/any-signal.ts'
import type { Transport } from '../util/transport.ts'
import { Authenticator, type AuthenticatorOptions } from './authenticate.ts'
import type { Health } from './health.ts'
import { Lease } from './lease.ts'
import { Trial } from './trial.ts'

export interface ConnectionOptions extends AuthenticatorOptions {
  /** Instead of credentials: what takes the requests. */
  readonly transport: Transport | undefined
  readonly networking: { readonly trustEnv: boolean }
  readonly openSession: (transport: Transport) => Session
  readonly health: Health
}

/** Files of credentials are looked at so often, and when a request was refused. */
const lookAgainMs = 60_000

/** A request that was refused with so many credentials has that as its answer. */
const mostRefusals = 10

export class Connection {
  readonly #options: ConnectionOptions
  readonly #vault = new Vault()
  readonly #authenticator: Authenticator
  /** Where a transport was given: nobody logs in. */
  readonly #given: Session | undefined
  /** Those to choose from; none before the login, and after all were refused or are over. */
  #leases: readonly Lease[] = []
  /** All that may have connections, those that were let go included. */
  readonly #open = new Map<Credential, Lease>()
  /** When the next one may be over, or its files are to be looked at. */
  #lookMs = 0
  /** What the server has last said of credentials that it did not accept; undefined once it has accepted others. */
  #refusal: ApiError | undefined
  /** Of new ones, after that. */
  #trial: Trial | undefined
  #info: ConnectionInfo | undefined
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#given = options.transport && options.openSession(options.transport)
    this.#authenticator = new Authenticator(options, {
      take: (found) => this.#take(found),
      forgive: () => this.#vault.forgive(),
    })
  }

  /** Undefined before the connection is found, and where it does not say. */
  get defaultNamespace(): string | undefined {
    return this.#info?.defaultNamespace
  }

  /** The one that was last chosen. */
  get info(): ConnectionInfo | undefined {
    return this.#info
  }

  /** Logs in, where that has not been done. */
  async open(): Promise<void> {
    if (this.#given === undefined && this.#leases.length === 0) await this.#logIn(undefined)
  }

  /** Whoever asks before there are credentials waits for them. */
  async use<T>(ask: (session: Session) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (this.#given !== undefined) return this.#listen(ask(this.#given), undefined)
    for (let refusals = 1; ; refusals += 1) {
      const lease = this.#pick() ?? (await this.#wait(signal))
      lease.enter()
      try {
        return await this.#listen(ask(lease.session), lease)
      } catch (error) {
        // Nothing was done: it is safe to ask again.
        if (!isUnauthorized(error) || refusals >= mostRefusals) throw error
      } finally {
        lease.leave()
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#open.values()].map((lease) => lease.close()))
  }

  /** For every request: a look at the clock, and no more while all is well. */
  #pick(): Lease | undefined {
    if (this.#options.clock.now() >= this.#lookMs) this.#look()
    return this.#refusal ? undefined : pickOne(this.#leases, Math.random)
  }

  async #wait(signal: AbortSignal | undefined): Promise<Lease> {
    for (;;) {
      signal?.throwIfAborted()
      const lease = pickOne(this.#leases, Math.random)
      if (lease === undefined) await this.#logIn(signal)
      else if (this.#refusal === undefined) return lease
      else if (this.#trial?.isOver === false) await this.#trial.wait(signal)
      else {
        this.#trial = new Trial(lease, this.#options.clock)
        return lease
      }
    }
  }

  async #logIn(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) throw new KopfError('KOPF_CONNECTION_CLOSED', 'Cannot connect: the operator has stopped')
    this.#options.health.loggedOut()
    await withAnySignal(signal === undefined ? [] : [signal], () => this.#authenticator.logIn(this.#refusal))
  }

  /** What the server says of the credentials, in passing. */
  async #listen<T>(asking: Promise<T>, lease: Lease | undefined): Promise<T> {
    try {
      const answer = await asking
      this.#hear(lease, undefined)
      return answer
    } catch (error) {
      this.#hear(lease, error)
      throw error
    }
  }

  #hear(lease: Lease | undefined, error: unknown): void {
    // What those that were let go are told says nothing of the present ones.
    if (lease === undefined || this.#leases.includes(lease)) this.#options.health.answered(error)
    if (lease !== undefined && this.#leases.includes(lease)) this.#judge(lease, error)
    if (this.#trial?.lease === lease) this.#trial?.end()
  }

  #judge({ credential }: Lease, error: unknown): void {
    if (isUnauthorized(error)) {
      this.#refusal = error
      this.#refuse(credential)
    } else if (error === undefined || error instanceof ApiError) {
      this.#refusal = undefined
      this.#authenticator.accepted()
    } else if (error instanceof ConnectionError && error.problem === 'certificate') {
      // The authority of the server may be another one by now, and its certificate in the file already.
      this.#lookMs = 0
    }
  }

  /** What was renewed in its files meanwhile is not the one that was refused. */
  #refuse(credential: Credential): void {
    const renewed = toRenewed(credential)
    this.#vault.refuse(credential)
    if (renewed !== undefined) this.#tryPut(renewed)
    this.#arrange()
  }

  /** Drops what is over, and takes what was renewed. */
  #look(): void {
    this.#vault.expire(this.#options.clock.now())
    for (const { credential } of this.#leases) {
      const renewed = this.#vault.has(credential) ? toRenewed(credential) : undefined
      if (renewed !== undefined) this.#tryPut(renewed)
    }
    this.#arrange()
  }

  /** False where none of it is of use; throws where none of it can even be read. */
  #take(found: ReadonlyMap<string, ConnectionInfo>): boolean {
    const failures = [...found].map(([id, info]) => {
      try {
        this.#put(toCredential(id, info))
        return undefined
      } catch (error) {
        this.#options.logger.error(`The credentials of "${id}" cannot be used: ${describeError(error)}`)
        return { error }
      }
    })
    this.#arrange()
    const failure = failures.find((one) => one !== undefined)
    if (this.#leases.length === 0 && failure !== undefined) throw failure.error
    return this.#leases.length > 0
  }

  /** Throws where no connection can be made of it. */
  #put(credential: Credential): void {
    if (!this.#vault.canTake(credential, this.#options.clock.now())) return
    const transport = createHttpsTransport(this.#withSettings(credential.read))
    const session = this.#options.openSession(transport)
    const lease = new Lease(credential, transport, session, () => this.#open.delete(credential))
    this.#open.set(credential, lease)
    this.#vault.put(credential)
  }

  /** A certificate may be there before its key: then what was used before is as good as ever. */
  #tryPut(renewed: Credential): void {
    try {
      this.#put(renewed)
    } catch (error) {
      this.#options.logger.warn(`Renewed credentials cannot be used: ${describeError(error)}`)
    }
  }

  #withSettings(info: ConnectionInfo): ConnectionInfo {
    const options = info.reveal()
    return new ConnectionInfo({ ...options, trustEnv: options.trustEnv ?? this.#options.networking.trustEnv })
  }

  /** Makes the leases those of the best credentials that are left, and lets the others go. */
  #arrange(): void {
    this.#leases = this.#vault.best.map((credential) => this.#open.get(credential)!)
    for (const [credential, lease] of this.#open) if (!this.#vault.has(credential)) lease.retire()
    this.#info = this.#leases[0]?.credential.given ?? this.#info
    this.#lookMs = Math.min(this.#vault.expiresMs, this.#options.clock.now() + lookAgainMs)
  }
}
