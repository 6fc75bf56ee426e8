/**
 * A transport that authenticates. Each request uses the credentials with the highest priority. After a 401 the next ones are used;
 * without any left, authenticator.ts logs in again, once for all waiting requests. vault.ts holds the credentials; this file owns
 * connections.
 */

import { KopfError } from '../../errors.ts'
import { withAnySignal } from '../../util/async/any-signal.ts'
import { type Clock, noLongerNeeded } from '../../util/async/clock.ts'
import { Latch } from '../../util/async/latch.ts'
import { describeError } from '../../util/log/describe-error.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../util/transport.ts'
import { ApiError } from '../api-error.ts'
import { toConnectionError } from '../connection-error.ts'
import { createHttpsTransport, type HttpsTransport } from '../http/transport.ts'
import { Authenticator, type AuthenticatorOptions } from './authenticator.ts'
import { ConnectionInfo } from './connection-info.ts'
import { type Credential, pickOne, toCredential, toRenewed, Vault } from './vault.ts'

/** Follows whether the API server accepts the credentials. */
interface CredentialsHealth {
  responded(status: number): void
  loggedOut(): void
}

export interface AuthenticatedTransportOptions extends AuthenticatorOptions {
  /** Receives all requests instead of connections with credentials, for example the embedded server. */
  readonly transport: Transport | undefined
  readonly networking: { readonly trustEnv: boolean }
  /** Learns from every response whether the credentials are accepted. */
  readonly health: CredentialsHealth
}

/** One set of credentials and its connections. */
interface OpenConnection {
  readonly credential: Credential
  readonly transport: HttpsTransport
  isDraining: boolean
}

/** How often credential files are read again; also after a 401 and after certificate errors. */
const recheckIntervalMs = 60_000

export class AuthenticatedTransport implements Transport {
  readonly #options: AuthenticatedTransportOptions
  readonly #vault = new Vault()
  readonly #authenticator: Authenticator
  /** Connections for new requests: those of the vault's best credentials. Empty before the login and when none is valid. */
  #connections: readonly OpenConnection[] = []
  /** All connections that are not closed, draining ones included. */
  readonly #open = new Map<Credential, OpenConnection>()
  /** When the first credentials expire or files are read again, whichever is earlier. */
  #recheckAtMs = 0
  /** The 401 of the last response; undefined if the last response was another one. */
  #unauthorized: ApiError | undefined
  /** The first request after a 401, for which all other requests wait. */
  #probe: CredentialProbe | undefined
  #info: ConnectionInfo | undefined
  #isClosed = false

  constructor(options: AuthenticatedTransportOptions) {
    this.#options = options
    this.#authenticator = new Authenticator(options, {
      accept: (found) => this.#accept(found),
      clearRejected: () => this.#vault.clearRejected(),
    })
  }

  /** Whether there are logins; false for a given transport. */
  get canLogIn(): boolean {
    return this.#options.transport === undefined
  }

  /** The namespace of the credentials; undefined before the login and if they have none. `default` for a given transport. */
  get defaultNamespace(): string | undefined {
    return this.#options.transport === undefined ? this.#info?.defaultNamespace : 'default'
  }

  /** The credentials in use, or those used last; undefined before the login. */
  get info(): ConnectionInfo | undefined {
    return this.#info
  }

  /** Resolves when a request can be sent; undefined if it can be sent at once. */
  ready(signal: AbortSignal | undefined): Promise<void> | undefined {
    return this.#options.transport !== undefined || this.#pick() ? undefined : this.#wait(signal)
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    if (this.#options.transport !== undefined) {
      const response = await this.#options.transport.send(request, signal)
      this.#options.health.responded(response.status)
      return response
    }
    const connection = this.#pick() ?? (await this.#acquire(signal))
    try {
      const response = await connection.transport.send(request, signal)
      this.#recordResponse(connection, request, response)
      return response
    } catch (error) {
      // The server's CA may have been rotated, and the new certificate may be in the file.
      if (toConnectionError(request, error).problem === 'certificate') this.#recheckAtMs = 0
      throw error
    } finally {
      this.#probe?.end(connection)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#open.values()].map(({ transport }) => transport.close()))
  }

  /** A connection for a request, without waiting. Runs for every request, so it only compares the time. */
  #pick(): OpenConnection | undefined {
    if (this.#options.clock.now() >= this.#recheckAtMs) this.#recheck()
    return this.#unauthorized ? undefined : pickOne(this.#connections, Math.random)
  }

  /** Waits until there are credentials and no probe of new credentials is running. */
  async #wait(signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      if (this.#connections.length === 0) await this.#logIn(signal)
      else if (this.#unauthorized && this.#probe?.isOver === false) await this.#probe.wait(signal)
      else return
    }
  }

  /** A connection for a request. The first request after a 401 becomes the probe of the new credentials. */
  async #acquire(signal: AbortSignal | undefined): Promise<OpenConnection> {
    for (;;) {
      await this.#wait(signal)
      // Another waiting request may have started the probe.
      const connection = pickOne(this.#connections, Math.random)
      if (connection === undefined || (this.#unauthorized && this.#probe?.isOver === false)) continue
      if (this.#unauthorized) this.#probe = new CredentialProbe(connection, this.#options.clock)
      return connection
    }
  }

  async #logIn(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) throw new KopfError('KOPF_CONNECTION_CLOSED', 'Cannot connect: the operator has stopped')
    this.#options.health.loggedOut()
    await withAnySignal(signal === undefined ? [] : [signal], () => this.#authenticator.logIn(this.#unauthorized))
  }

  /** Evaluates the status of a response. Responses on draining connections say nothing about the current credentials. */
  #recordResponse(connection: OpenConnection, { method, path }: TransportRequest, { status }: TransportResponse): void {
    if (!this.#connections.includes(connection)) return
    this.#options.health.responded(status)
    this.#unauthorized = status === 401 ? new ApiError({ method, path, status, reason: 'Unauthorized' }) : undefined
    if (this.#unauthorized) this.#reject(connection.credential)
    else this.#authenticator.accepted()
  }

  /** Rejects credentials after a 401, and adds the current contents of their files if these have changed. */
  #reject(credential: Credential): void {
    const renewed = toRenewed(credential)
    this.#vault.reject(credential)
    if (renewed !== undefined) this.#tryAdd(renewed)
    this.#updateConnections()
  }

  /** Drops expired credentials and adds renewed files. */
  #recheck(): void {
    this.#vault.expire(this.#options.clock.now())
    for (const { credential } of this.#connections) {
      const renewed = this.#vault.has(credential) ? toRenewed(credential) : undefined
      if (renewed !== undefined) this.#tryAdd(renewed)
    }
    this.#updateConnections()
  }

  /** Adds the credentials of a login. False if none is usable; throws if none can be read. */
  #accept(found: ReadonlyMap<string, ConnectionInfo>): boolean {
    const failures = [...found].map(([id, info]) => {
      try {
        this.#add(toCredential(id, info))
        return undefined
      } catch (error) {
        this.#options.logger.error(`The credentials of "${id}" cannot be used: ${describeError(error)}`)
        return { error }
      }
    })
    this.#updateConnections()
    const failure = failures.find((one) => one !== undefined)
    if (this.#connections.length === 0 && failure !== undefined) throw failure.error
    return this.#connections.length > 0
  }

  /** Adds credentials with a new transport. Throws if they are invalid for a connection. */
  #add(credential: Credential): void {
    if (!this.#vault.canAdd(credential, this.#options.clock.now())) return
    const transport = createHttpsTransport(this.#withSettings(credential.resolved))
    this.#open.set(credential, { credential, transport, isDraining: false })
    this.#vault.add(credential)
  }

  /** As `#add`, but only logs a failure: a renewed certificate may be written before its key, and the old pair still works. */
  #tryAdd(renewed: Credential): void {
    try {
      this.#add(renewed)
    } catch (error) {
      this.#options.logger.warn(`Renewed credentials cannot be used: ${describeError(error)}`)
    }
  }

  #withSettings(info: ConnectionInfo): ConnectionInfo {
    const options = info.reveal()
    return new ConnectionInfo({ ...options, trustEnv: options.trustEnv ?? this.#options.networking.trustEnv })
  }

  /** Uses the connections of the best credentials for new requests, and drains those of dropped credentials. */
  #updateConnections(): void {
    this.#connections = this.#vault.best.map((credential) => this.#open.get(credential)!)
    for (const connection of this.#open.values()) if (!this.#vault.has(connection.credential)) this.#drain(connection)
    const [first] = this.#connections
    if (first !== undefined) this.#info = this.#withSettings(first.credential.given)
    this.#recheckAtMs = Math.min(this.#vault.expiresMs, this.#options.clock.now() + recheckIntervalMs)
  }

  /** Lets active requests and streams end: the server has authenticated them. */
  #drain(connection: OpenConnection): void {
    if (connection.isDraining) return
    connection.isDraining = true
    void connection.transport.drain().then(() => this.#open.delete(connection.credential))
  }
}

/** Timeout of a probe; then another request may become the probe. */
const probeTimeoutMs = 5000

/** The first request with new credentials after a 401. All other requests wait for its response, so that bad credentials cause one 401. */
export class CredentialProbe {
  readonly #latch = new Latch()
  readonly #done = new AbortController()

  readonly #connection: object

  constructor(connection: object, clock: Clock) {
    this.#connection = connection
    clock.sleep(probeTimeoutMs, this.#done.signal).then(
      () => this.#latch.open(),
      () => {},
    )
  }

  get isOver(): boolean {
    return this.#latch.isOpen
  }

  /** Ends the probe if the finished request used its connection. */
  end(connection: object): void {
    if (connection !== this.#connection) return
    this.#done.abort(noLongerNeeded)
    this.#latch.open()
  }

  /** Resolves at the end of the probe; rejects with the signal's reason if it is aborted first. */
  wait(signal: AbortSignal | undefined): Promise<void> {
    return this.#latch.wait(signal)
  }
}
