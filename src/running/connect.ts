/**
 * The way to the cluster, as a transport. Each request is sent with the best credentials there are; where the server does not
 * accept them, the next ones are used from then on, and where there are none left, the logins are asked anew, once for all
 * who wait meanwhile. The state is in client/vault.ts; here are its effects: connections, logins, pauses.
 */
import { ApiError } from '../client/api-error.ts'
import { toConnectionError } from '../client/connection-error.ts'
import { ConnectionInfo } from '../client/credentials.ts'
import { createHttpsTransport, type HttpsTransport } from '../client/transport.ts'
import { type Credential, pickOne, toCredential, toRenewed, Vault } from '../client/vault.ts'
import { describeError } from '../core/handling/outcomes.ts'
import { KopfError } from '../errors.ts'
import { withAnySignal } from '../util/any-signal.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
import { Authenticator, type AuthenticatorOptions } from './authenticate.ts'
import type { Health } from './health.ts'
import { Trial } from './trial.ts'

export interface ConnectionOptions extends AuthenticatorOptions {
  /** Instead of credentials: what takes the requests. */
  readonly transport: Transport | undefined
  readonly networking: { readonly trustEnv: boolean }
  readonly health: Health
}

/** One set of credentials, and the connections that are made with it. */
interface Lease {
  readonly credential: Credential
  readonly transport: HttpsTransport
  isRetired: boolean
}

/** Files of credentials are looked at so often, and when the server has refused what was in them. */
const lookAgainMs = 60_000

export class Connection implements Transport {
  readonly #options: ConnectionOptions
  readonly #vault = new Vault()
  readonly #authenticator: Authenticator
  /** Those to choose from; none before the login, and after all were refused or are over. */
  #leases: readonly Lease[] = []
  /** All that may have connections, those that were let go included. */
  readonly #open = new Map<Credential, Lease>()
  /** When the next one may be over, or its files are to be looked at. */
  #lookMs = 0
  /** Where that was the last thing we heard: that we are not known. */
  #refusal: ApiError | undefined
  /** Of new credentials, after that. */
  #trial: Trial | undefined
  #info: ConnectionInfo | undefined
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#authenticator = new Authenticator(options, {
      take: (found) => this.#take(found),
      forgive: () => this.#vault.forgive(),
    })
  }

  /** Whether somebody can be asked for other credentials. */
  get canLogIn(): boolean {
    return this.#options.transport === undefined
  }

  /** Undefined before the connection is found, and where it does not say. A transport says nothing at all, and is in none. */
  get defaultNamespace(): string | undefined {
    return this.#options.transport === undefined ? this.#info?.defaultNamespace : 'default'
  }

  /** The one that was last chosen. */
  get info(): ConnectionInfo | undefined {
    return this.#info
  }

  /** Undefined where a request can be made at once; else resolves as soon as it can. */
  ready(signal: AbortSignal | undefined): Promise<void> | undefined {
    return this.#options.transport !== undefined || this.#pick() ? undefined : this.#wait(signal)
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    if (this.#options.transport !== undefined) {
      const response = await this.#options.transport.send(request, signal)
      this.#options.health.answered(response.status)
      return response
    }
    const lease = this.#pick() ?? (await this.#claim(signal))
    try {
      const response = await lease.transport.send(request, signal)
      this.#hear(lease, request, response)
      return response
    } catch (error) {
      // The authority of the server may be another one by now, and its certificate in the file already.
      if (toConnectionError(request, error).problem === 'certificate') this.#lookMs = 0
      throw error
    } finally {
      this.#trial?.end(lease)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#open.values()].map(({ transport }) => transport.close()))
  }

  /** For every request: a look at the clock, and no more while all is well. */
  #pick(): Lease | undefined {
    if (this.#options.clock.now() >= this.#lookMs) this.#look()
    return this.#refusal ? undefined : pickOne(this.#leases, Math.random)
  }

  /** Until there are credentials, and nobody else is trying whether they are any good. */
  async #wait(signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      if (this.#leases.length === 0) await this.#logIn(signal)
      else if (this.#refusal && this.#trial?.isOver === false) await this.#trial.wait(signal)
      else return
    }
  }

  /** Whoever is the first after a refusal tries for all. */
  async #claim(signal: AbortSignal | undefined): Promise<Lease> {
    for (;;) {
      await this.#wait(signal)
      // Of all who have waited, another one may be here first.
      const lease = pickOne(this.#leases, Math.random)
      if (lease === undefined || (this.#refusal && this.#trial?.isOver === false)) continue
      if (this.#refusal) this.#trial = new Trial(lease, this.#options.clock)
      return lease
    }
  }

  async #logIn(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) throw new KopfError('KOPF_CONNECTION_CLOSED', 'Cannot connect: the operator has stopped')
    this.#options.health.loggedOut()
    await withAnySignal(signal === undefined ? [] : [signal], () => this.#authenticator.logIn(this.#refusal))
  }

  /** What those that were let go are told says nothing of the present ones. */
  #hear(lease: Lease, { method, path }: TransportRequest, { status }: TransportResponse): void {
    if (!this.#leases.includes(lease)) return
    this.#options.health.answered(status)
    this.#refusal = status === 401 ? new ApiError({ method, path, status, reason: 'Unauthorized' }) : undefined
    if (this.#refusal) this.#refuse(lease.credential)
    else this.#authenticator.accepted()
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
    this.#open.set(credential, { credential, transport, isRetired: false })
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
    for (const lease of this.#open.values()) if (!this.#vault.has(lease.credential)) this.#retire(lease)
    const [first] = this.#leases
    if (first !== undefined) this.#info = this.#withSettings(first.credential.given)
    this.#lookMs = Math.min(this.#vault.expiresMs, this.#options.clock.now() + lookAgainMs)
  }

  /** What is under way goes on, streams too: the server has let them in. */
  #retire(lease: Lease): void {
    if (lease.isRetired) return
    lease.isRetired = true
    void lease.transport.retire().then(() => this.#open.delete(lease.credential))
  }
}
