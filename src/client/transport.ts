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
import type { Socket } from 'node:net'
import { KopfError } from '../errors.ts'
import { nextTurn } from '../util/clock.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
import type { ConnectionInfo, ConnectionInfoOptions } from './credentials.ts'
import { toAuthorization, toTlsOptions } from './tls.ts'

/** Connections for ordinary requests; more requests than this wait for one to be free. */
const maxSockets = 16

/** Idle time before the first probe of TCP: a peer that vanished is noticed although nothing is sent. */
const probeAfterMs = 30_000

export type HttpsTransport = Transport & {
  /** Breaks off whatever is under way; resolves when every connection is closed. */
  close(): Promise<void>
}

export function createHttpsTransport(connection: ConnectionInfo): HttpsTransport {
  const options = connection.reveal()
  refuseProxies(options)
  return new SocketTransport(options)
}

function refuseProxies({ proxyUrl, trustEnv }: ConnectionInfoOptions): void {
  if (proxyUrl === undefined && trustEnv !== true) return
  const option = proxyUrl === undefined ? 'trustEnv' : 'proxyUrl (proxy-url of the kubeconfig)'
  throw new KopfError(
    'KOPF_CONNECTION_INFO',
    `Cannot connect through a proxy: ${option} is not supported yet; use an address that can be reached directly`,
  )
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
  readonly #headers: Readonly<Record<string, string>>
  readonly #tls: object
  readonly #pools: Pools
  /** From being sent until its connection is free again or closed. */
  readonly #active = new Set<ClientRequest>()
  /** Those that probe already. */
  readonly #probed = new WeakSet<Socket>()
  #isClosed = false

  constructor(options: ConnectionInfoOptions) {
    this.#url = new URL(options.server)
    this.#root = this.#url.pathname.replace(/\/+$/, '')
    this.#tls = this.#isSecure ? toTlsOptions(options) : {}
    const authorization = toAuthorization(options)
    this.#headers = authorization === undefined ? {} : { authorization }
    const create = (agentOptions: AgentOptions) =>
      toOneServer(this.#isSecure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions))
    this.#pools = {
      requests: create({ keepAlive: true, keepAliveMsecs: probeAfterMs, maxSockets, scheduling: 'lifo' }),
      unbounded: create({ keepAlive: true, keepAliveMsecs: probeAfterMs, scheduling: 'lifo' }),
      fresh: create({ keepAlive: false, maxSockets }),
    }
  }

  get #isSecure(): boolean {
    return this.#url.protocol === 'https:'
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    signal?.throwIfAborted()
    const pool = request.isUrgent || isWatch(request.path) ? this.#pools.unbounded : this.#pools.requests
    try {
      return await this.#exchange(request, pool, signal)
    } catch (error) {
      if (signal?.aborted || !(error instanceof StaleConnection)) throw error
      return await this.#exchange(request, this.#pools.fresh, signal)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const request of this.#active) request.destroy(closed())
    // In rounds: for each connection that is gone, an agent opens another one where requests have waited for it.
    for (let sockets = this.#sockets(); sockets.length > 0; sockets = this.#sockets()) {
      await Promise.all(sockets.map(closing))
    }
    for (const pool of this.#agents) pool.destroy()
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
    if (this.#isClosed) return Promise.reject(closed())
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
        resolve({ status: response.statusCode!, headers: headersOf(response), body: new Body(response) })
      })
      // After the answer has begun this settles nothing: a server may answer before it has read all of a body.
      outgoing.on('error', (error) => reject(isStale(request, outgoing, error) ? new StaleConnection(error) : error))
      outgoing.on('close', () => {
        signal?.removeEventListener('abort', abort)
        this.#active.delete(outgoing)
        if (incoming === undefined) reject(closed())
      })
      if (request.check === undefined) outgoing.end(request.body)
      else endChecked(outgoing, request.body, request.check)
    })
  }

  #open({ method, path, headers, body }: TransportRequest, agent: HttpAgent): ClientRequest {
    const outgoing = (this.#isSecure ? requestHttps : requestHttp)({
      ...this.#tls,
      agent,
      // The brackets of an IPv6 address belong to the URL alone.
      hostname: this.#url.hostname.replace(/^\[|\]$/g, ''),
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

/** An agent names its connections by all that they were made with, certificates included, for every request anew. */
function toOneServer<A extends HttpAgent>(agent: A): A {
  agent.getName = () => 'the API server'
  return agent
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

/** So many pieces may wait to be read before the server is made to wait. */
const mostPieces = 16

interface Reader {
  resolve(result: IteratorResult<Uint8Array, undefined>): void
  reject(error: unknown): void
}

/**
 * The body as it comes; closes the connection where it is not read to its end, begun or not. Much cheaper than the
 * iterator of Node's streams, which counts with three of them for every object handled.
 */
class Body implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #response: IncomingMessage
  readonly #pieces: Uint8Array[] = []
  /** Waits for the next piece; only while there is none. */
  #reader: Reader | undefined
  #end: { readonly error?: unknown } | undefined

  constructor(response: IncomingMessage) {
    this.#response = response
    response.on('data', (piece: Uint8Array) => this.#take(piece))
    response.on('end', () => this.#finish({}))
    response.on('error', (error) => this.#finish({ error }))
    // An error has a stack, which is dear: only where it is one.
    response.on('close', () => this.#end ?? this.#finish({ error: closed() }))
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const value = this.#pieces.shift()
    if (value !== undefined) {
      if (this.#pieces.length === 0 && this.#response.isPaused()) this.#response.resume()
      return Promise.resolve({ done: false, value })
    }
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
      this.#settle()
    })
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#pieces.length = 0
    this.#finish({})
    this.#response.destroy()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #take(piece: Uint8Array): void {
    const reader = this.#reader
    this.#reader = undefined
    if (reader !== undefined) {
      reader.resolve({ done: false, value: piece })
      return
    }
    this.#pieces.push(piece)
    if (this.#pieces.length >= mostPieces) this.#response.pause()
  }

  /** The first end counts: a connection is also closed after all has come. */
  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end
    this.#settle()
  }

  #settle(): void {
    const reader = this.#reader
    if (reader === undefined || this.#end === undefined) return
    this.#reader = undefined
    if ('error' in this.#end) reader.reject(this.#end.error)
    else reader.resolve({ done: true, value: undefined })
  }
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

function closed(): KopfError {
  return new KopfError(
    'KOPF_CONNECTION_CLOSED',
    'Cannot send a request: the connection to the API server has been closed',
  )
}
