/**
 * Requests over HTTPS (or HTTP): the one place that opens a connection to the API server. Called by session.ts, which
 * knows of retries and time limits; here is only what concerns sockets. Follows no redirects: they would carry the
 * credentials elsewhere.
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
import { nextTurn } from '../util/clock.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
import { type AuthHeaders, toAuthHeaders } from './auth-headers.ts'
import { checkPlainHttp } from './connection-checks.ts'
import { connectionClosed } from './connection-error.ts'
import { readCredentialFiles } from './credential-files.ts'
import type { ConnectionInfo, ConnectionInfoOptions } from './credentials.ts'
import { findProxy } from './proxy.ts'
import { ResponseBody } from './response-body.ts'
import { type TlsOptions, toTlsOptions } from './tls.ts'
import { openTunnel } from './tunnel.ts'

/** Connections for ordinary requests; more requests than this wait for one to be free. */
const maxSockets = 16

/** Idle time before the first probe of TCP: a peer that vanished is noticed although nothing is sent. */
const probeAfterMs = 30_000

export type HttpsTransport = Transport & {
  /** No more requests come: closes by itself as soon as those that are under way, streams too, have ended. Resolves then. */
  retire(): Promise<void>
  /** Breaks off whatever is under way; resolves when every connection is closed. */
  close(): Promise<void>
}

export function createHttpsTransport(connection: ConnectionInfo): HttpsTransport {
  return new SocketTransport(readCredentialFiles(connection).reveal())
}

interface Pools {
  readonly requests: HttpAgent
  /** Streams last, and must neither wait for requests nor starve them; and for what must not wait for anybody. */
  readonly unbounded: HttpAgent
  /** Never reuses a connection: for what failed because of an old one. */
  readonly fresh: HttpAgent
}

class SocketTransport implements HttpsTransport {
  readonly #url: URL
  /** The path of the server's address, without the slash at its end. */
  readonly #root: string
  readonly #headers: AuthHeaders
  /** Undefined for plain HTTP. */
  readonly #tls: TlsOptions | undefined
  readonly #proxy: URL | undefined
  readonly #pools: Pools
  /** From being sent until its connection is free again or closed. */
  readonly #active = new Set<ClientRequest>()
  /** Those that probe already. */
  readonly #probed = new WeakSet<Socket>()
  /** Aborted with the end: for what is being connected. */
  readonly #end = new AbortController()
  /** Those that wait for the head of their answer, on their first connection or on another one. */
  #sending = 0
  /** Called when nothing is under way any more; undefined while more may come. */
  #onIdle: (() => void) | undefined

  constructor(options: ConnectionInfoOptions) {
    this.#url = new URL(options.server)
    this.#root = this.#url.pathname.replace(/\/+$/, '')
    this.#tls = this.#url.protocol === 'https:' ? toTlsOptions(options) : undefined
    this.#headers = toAuthHeaders(options)
    this.#proxy = findProxy(options)
    checkPlainHttp(options, this.#proxy !== undefined)
    const create = (agentOptions: AgentOptions) =>
      this.#toOneServer(this.#tls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions))
    this.#pools = {
      requests: create({ keepAlive: true, keepAliveMsecs: probeAfterMs, maxSockets, scheduling: 'lifo' }),
      unbounded: create({ keepAlive: true, keepAliveMsecs: probeAfterMs, scheduling: 'lifo' }),
      fresh: create({ keepAlive: false, maxSockets }),
    }
  }

  /** The brackets of an IPv6 address belong to the URL alone. */
  get #host(): string {
    return this.#url.hostname.replace(/^\[|\]$/g, '')
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
      this.#tellIfIdle()
    }
  }

  async retire(): Promise<void> {
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#tellIfIdle()
    await idle
    await this.close()
  }

  async close(): Promise<void> {
    this.#end.abort(connectionClosed())
    for (const request of this.#active) request.destroy(connectionClosed())
    // In rounds: for each connection that is gone, an agent opens another one where requests have waited for it.
    for (let sockets = this.#sockets(); sockets.length > 0; sockets = this.#sockets()) {
      await Promise.all(sockets.map(closing))
    }
    for (const pool of this.#agents) pool.destroy()
  }

  #tellIfIdle(): void {
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
    if (this.#end.signal.aborted) return Promise.reject(connectionClosed())
    return new Promise((resolve, reject) => {
      const outgoing = this.#open(request, pool)
      let incoming: IncomingMessage | undefined
      const abort = () => {
        ;(incoming ?? outgoing).destroy(signal?.reason)
        // A request that still waits for a connection would tell only once it has one.
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      outgoing.on('response', (response) => {
        incoming = response
        resolve({ status: response.statusCode!, headers: headersOf(response), body: new ResponseBody(response) })
      })
      // After the answer has begun this settles nothing: a server may answer before it has read all of a body.
      outgoing.on('error', (error) => reject(isStale(request, outgoing, error) ? new StaleConnection(error) : error))
      outgoing.on('close', () => {
        signal?.removeEventListener('abort', abort)
        this.#active.delete(outgoing)
        if (incoming === undefined) reject(connectionClosed())
        this.#tellIfIdle()
      })
      if (request.check === undefined) outgoing.end(request.body)
      else endChecked(outgoing, request.body, request.check)
    })
  }

  #open({ method, path, headers, body }: TransportRequest, agent: HttpAgent): ClientRequest {
    const outgoing = (this.#tls ? requestHttps : requestHttp)({
      ...this.#tls,
      agent,
      hostname: this.#host,
      port: this.#url.port,
      method,
      path: this.#root + path,
      headers: {
        // What is compressed costs the server more than the network gains, and a watch would wait in the compressor.
        'accept-encoding': 'identity',
        ...headers,
        ...this.#headers,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
    })
    this.#active.add(outgoing)
    outgoing.on('socket', (socket) => this.#probe(socket))
    return outgoing
  }

  /** An agent asks for probes only once a connection is idle; a watch needs them while it is open. */
  #probe(socket: Socket): void {
    if (this.#probed.has(socket)) return
    this.#probed.add(socket)
    socket.setKeepAlive(true, probeAfterMs)
  }

  #toOneServer<A extends HttpAgent>(agent: A): A {
    // An agent names its connections by all that they were made with, certificates included, for every request anew.
    agent.getName = () => 'the API server'
    const proxy = this.#proxy
    if (proxy) Object.assign(agent, { createConnection: this.#connectThrough(proxy) })
    return agent
  }

  #connectThrough(proxy: URL): (options: unknown, done: (error: Error | null, socket?: Socket) => void) => void {
    const target = { host: this.#host, port: Number(this.#url.port || (this.#tls ? 443 : 80)) }
    return (_, done) => {
      openTunnel(proxy, target, this.#end.signal).then(
        (socket) => done(null, this.#tls ? encrypt(socket, target.host, this.#tls) : socket),
        (error: Error) => done(error),
      )
    }
  }
}

/** Not before there is a connection: between being asked for and being sent, the event loop may be blocked for any time. */
function endChecked(outgoing: ClientRequest, body: TransportRequest['body'], check: () => void): void {
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

/** An address is no name that a server could be asked for. */
function encrypt(socket: Socket, host: string, tls: TlsOptions): Socket {
  const name = isIP(host) === 0 ? { servername: host } : {}
  return connect({ host, ...name, ...tls, socket, ALPNProtocols: ['http/1.1'] })
}

/** The server closed a kept connection at the moment we used it. */
class StaleConnection extends Error {
  readonly code: unknown

  constructor(cause: Error & { readonly code?: unknown }) {
    super(cause.message, { cause })
    this.code = cause.code
  }
}

/**
 * Not a byte of an answer came on a connection that had been idle. It may yet be that the request was served and only the
 * answer lost: what must not be done twice (POST) is for the caller to decide.
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

function closing(socket: Socket): Promise<void> {
  // Closed already, but the agent hears of it only with the next turn: asking it at once again would be for ever.
  if (socket.closed) return nextTurn()
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
    socket.destroy()
  })
}
