/**
 * Sends requests to the API server over HTTPS or HTTP, with pooled connections. Used by auth/authenticated-transport.ts; timeouts and
 * retries are in session.ts. Follows no redirects, which would send the credentials to another server.
 */
import {
  type AgentOptions,
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect } from 'node:tls'
import { nextTurn } from '../../util/async/clock.ts'
import { toHost } from '../../util/text/hosts.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../util/transport.ts'
import type { ConnectionInfo, ConnectionInfoOptions } from '../auth/connection-info.ts'
import { checkPlainHttp } from '../auth/connection-info-checks.ts'
import { readCredentialFiles } from '../auth/credential-files.ts'
import { connectionClosedError } from '../connection-error.ts'
import { type AuthHeaders, toAuthHeaders } from './auth-headers.ts'
import { findProxy } from './proxy.ts'
import { openTunnel } from './proxy-tunnel.ts'
import { ResponseBody } from './response-body.ts'
import { type TlsOptions, toTlsOptions } from './tls.ts'

/** Maximum number of connections for ordinary requests; further requests wait. */
const maxSockets = 16

/** Idle time before the first TCP keep-alive probe, by which a dead peer is noticed although nothing is sent. */
const keepAliveDelayMs = 30_000

export type HttpsTransport = Transport & {
  /** Closes after all active requests and streams have ended, and resolves then. No further requests may be sent. */
  drain(): Promise<void>
  /** Aborts all active requests; resolves when every connection is closed. */
  close(): Promise<void>
}

export function createHttpsTransport(connection: ConnectionInfo): HttpsTransport {
  return new SocketTransport(readCredentialFiles(connection).reveal())
}

interface Pools {
  readonly requests: HttpAgent
  /** For watches, which must neither wait for requests nor occupy their connections, and for urgent requests. */
  readonly unbounded: HttpAgent
  /** Never reuses a connection: for retries after a stale connection. */
  readonly fresh: HttpAgent
}

class SocketTransport implements HttpsTransport {
  readonly #url: URL
  /** The path of the server's URL without a trailing slash. */
  readonly #root: string
  readonly #headers: AuthHeaders
  /** Undefined for plain HTTP. */
  readonly #tls: TlsOptions | undefined
  readonly #proxy: URL | undefined
  readonly #pools: Pools
  /** Requests from their creation until their connection is free again or closed. */
  readonly #active = new Set<ClientRequest>()
  /** Sockets with keep-alive probes enabled. */
  readonly #keptAlive = new WeakSet<Socket>()
  /** Aborted by `close`, for tunnels that are being opened. */
  readonly #closing = new AbortController()
  /** Number of requests without the head of a response, including retries on a fresh connection. */
  #sending = 0
  /** Resolves `drain`; undefined before it is called. */
  #onIdle: (() => void) | undefined

  constructor(options: ConnectionInfoOptions) {
    this.#url = new URL(options.server)
    this.#root = this.#url.pathname.replace(/\/+$/, '')
    this.#tls = this.#url.protocol === 'https:' ? toTlsOptions(options) : undefined
    this.#headers = toAuthHeaders(options)
    this.#proxy = findProxy(options)
    checkPlainHttp(options, this.#proxy !== undefined)
    const create = (agentOptions: AgentOptions) =>
      this.#configureAgent(this.#tls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions))
    this.#pools = {
      requests: create({ keepAlive: true, keepAliveMsecs: keepAliveDelayMs, maxSockets, scheduling: 'lifo' }),
      unbounded: create({ keepAlive: true, keepAliveMsecs: keepAliveDelayMs, scheduling: 'lifo' }),
      fresh: create({ keepAlive: false, maxSockets }),
    }
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    signal?.throwIfAborted()
    const pool = request.isUrgent || isWatch(request.path) ? this.#pools.unbounded : this.#pools.requests
    this.#sending += 1
    try {
      return await this.#exchange(request, pool, signal)
    } catch (error) {
      if (signal?.aborted || !(error instanceof StaleConnection)) throw error
      return await this.#exchange(request, this.#pools.fresh, signal)
    } finally {
      this.#sending -= 1
      this.#resolveIfIdle()
    }
  }

  async drain(): Promise<void> {
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#resolveIfIdle()
    await idle
    await this.close()
  }

  async close(): Promise<void> {
    this.#closing.abort(connectionClosedError())
    for (const request of this.#active) request.destroy(connectionClosedError())
    // In rounds: when a connection closes, an agent opens another one for a waiting request.
    for (let sockets = this.#sockets(); sockets.length > 0; sockets = this.#sockets()) {
      await Promise.all(sockets.map(closeSocket))
    }
    for (const pool of this.#agents) pool.destroy()
  }

  #resolveIfIdle(): void {
    if (this.#sending === 0 && this.#active.size === 0) this.#onIdle?.()
  }

  get #agents(): readonly HttpAgent[] {
    const { requests, unbounded, fresh } = this.#pools
    return [requests, unbounded, fresh]
  }

  #sockets(): Socket[] {
    const byAddress = this.#agents.flatMap(({ sockets, freeSockets }) => [sockets, freeSockets])
    const sockets = byAddress.flatMap((pooled) => Object.values(pooled)).flatMap((pooled) => pooled ?? [])
    return sockets.filter(({ closed }) => !closed)
  }

  #exchange(request: TransportRequest, pool: HttpAgent, signal: AbortSignal | undefined): Promise<TransportResponse> {
    if (this.#closing.signal.aborted) return Promise.reject(connectionClosedError())
    return new Promise((resolve, reject) => {
      const outgoing = this.#open(request, pool)
      let incoming: IncomingMessage | undefined
      const abort = () => {
        ;(incoming ?? outgoing).destroy(signal?.reason)
        // A request that waits for a connection would report the abort only once it has one.
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      outgoing.on('response', (response) => {
        incoming = response
        resolve({ status: response.statusCode!, headers: headersOf(response), body: new ResponseBody(response) })
      })
      // No effect once the response has begun: a server may respond before it has read the whole body.
      outgoing.on('error', (error) => reject(isStale(request, outgoing, error) ? new StaleConnection(error) : error))
      outgoing.on('close', () => {
        signal?.removeEventListener('abort', abort)
        this.#active.delete(outgoing)
        if (incoming === undefined) reject(connectionClosedError())
        this.#resolveIfIdle()
      })
      if (request.check === undefined) outgoing.end(request.body)
      else endWhenConnected(outgoing, request.body, request.check)
    })
  }

  #open({ method, path, headers, body }: TransportRequest, agent: HttpAgent): ClientRequest {
    const outgoing = (this.#tls ? requestHttps : requestHttp)({
      ...this.#tls,
      agent,
      hostname: toHost(this.#url),
      port: this.#url.port,
      method,
      path: this.#root + path,
      headers: {
        // Compression costs the server more than it saves on the network, and would delay watch events in its buffer.
        'accept-encoding': 'identity',
        ...headers,
        ...this.#headers,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
    })
    this.#active.add(outgoing)
    outgoing.on('socket', (socket) => this.#enableKeepAlive(socket))
    return outgoing
  }

  /** An agent enables keep-alive probes only for idle connections; a watch needs them while it is open. */
  #enableKeepAlive(socket: Socket): void {
    if (this.#keptAlive.has(socket)) return
    this.#keptAlive.add(socket)
    socket.setKeepAlive(true, keepAliveDelayMs)
  }

  #configureAgent<A extends HttpAgent>(agent: A): A {
    // By default, an agent builds a name from all options, certificates included, for every request.
    agent.getName = () => 'the API server'
    const proxy = this.#proxy
    if (proxy) Object.assign(agent, { createConnection: this.#connectThrough(proxy) })
    return agent
  }

  #connectThrough(proxy: URL): (options: unknown, done: (error: Error | null, socket?: Socket) => void) => void {
    const target = { host: toHost(this.#url), port: Number(this.#url.port || (this.#tls ? 443 : 80)) }
    return (_, done) => {
      openTunnel(proxy, target, this.#closing.signal).then(
        (socket) => done(null, this.#tls ? encrypt(socket, target.host, this.#tls) : socket),
        (error: Error) => done(error),
      )
    }
  }
}

/** Runs the check once there is a connection: the event loop may be blocked for any time between request and connection. */
function endWhenConnected(outgoing: ClientRequest, body: TransportRequest['body'], check: () => void): void {
  const end = () => {
    try {
      check()
      outgoing.end(body)
    } catch (error) {
      outgoing.destroy(error as Error)
    }
  }
  outgoing.on('socket', (socket: Socket & { readonly secureConnecting?: boolean }) => {
    if (socket.secureConnecting) socket.once('secureConnect', end)
    else if (socket.connecting) socket.once('connect', end)
    else end()
  })
}

/** TLS over a tunnel. SNI (`servername`) is not defined for IP addresses. */
function encrypt(socket: Socket, host: string, tls: TlsOptions): Socket {
  const name = isIP(host) === 0 ? { servername: host } : {}
  return connect({ host, ...name, ...tls, socket, ALPNProtocols: ['http/1.1'] })
}

/** The server closed a pooled connection at the moment it was reused. */
class StaleConnection extends Error {
  readonly code: unknown

  constructor(cause: Error & { readonly code?: unknown }) {
    super(cause.message, { cause })
    this.code = cause.code
  }
}

/**
 * Whether a reused connection failed without a response, so that the request can be sent again on a fresh one. The server may still
 * have executed the request, so a POST is left to the caller (retries.ts).
 */
function isStale(
  { method }: TransportRequest,
  outgoing: ClientRequest,
  error: Error & { readonly code?: unknown },
): boolean {
  return method !== 'POST' && outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

function isWatch(path: string): boolean {
  return /[?&]watch=(true|1)(&|$)/.test(path)
}

function headersOf({ headers }: IncomingMessage): TransportResponse['headers'] {
  return headers as TransportResponse['headers']
}

function closeSocket(socket: Socket): Promise<void> {
  // Closed, but the agent removes the socket only in the next turn of the event loop; without a pause `close` would loop forever.
  if (socket.closed) return nextTurn()
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
    socket.destroy()
  })
}
