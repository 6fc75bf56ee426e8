/**
 * An HTTP or HTTPS server of the operator: for health probes, metrics, the dashboard. Limits the number of connections, the time and the size of
 * requests, and refuses requests with a foreign `Host` on loopback. Does not authenticate clients: access-reviews.ts does.
 */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { KopfError } from '../errors.ts'
import type { KeyPair } from '../util/certificates.ts'
import { ConnectionGuard, hasBody } from '../util/process/connection-guard.ts'
import { formatEndpointAddress, isLoopbackAddress, isLoopbackHost, type ServingAddress, toHostName } from './address.ts'

export interface EndpointOptions {
  /** `https` needs `certificates`. */
  readonly address: ServingAddress
  /** What is served, for error messages: `Cannot serve <name> at <address>: …`. */
  readonly name: string
  /** The code of errors. */
  readonly code: string
  /** Returns the certificates, the first one at once and each renewed one later, until the signal is aborted. */
  readonly certificates?: (signal: AbortSignal) => AsyncIterable<KeyPair>
  readonly limits?: Partial<EndpointLimits>
  /** Answers a request, with `respond` or by itself. If it throws or rejects, the answer is 500 and `onError` is called. */
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>
  readonly onError?: (error: unknown) => void
}

export interface EndpointLimits {
  readonly maxConnections: number
  /** Most of `maxConnections`, since several clients may share an address. */
  readonly maxPerAddress: number
  /** In bytes: of all headers of a request. */
  readonly maxHeaderBytes: number
  /** A client must finish its TLS handshake, and then send its request with its body, within this time. */
  readonly requestTimeoutMs: number
  /** Of all responses that clients have not read yet. Beyond this, the oldest one is given up, and its client disconnected. */
  readonly maxUnsentBytes: number
  /** A connection that transfers nothing is closed after this time. Longer than the slowest response takes. */
  readonly idleTimeoutMs: number
}

export interface Endpoint {
  /** The bound address, with the actual port if port 0 was requested. */
  readonly address: ServingAddress
  /** Stops listening, and closes all connections. */
  close(): Promise<void>
}

export const defaultLimits: EndpointLimits = {
  maxConnections: 256,
  maxPerAddress: 192,
  maxHeaderBytes: 8192,
  requestTimeoutMs: 5000,
  idleTimeoutMs: 15_000,
  maxUnsentBytes: 16 * 1024 * 1024,
}

export async function startEndpoint(options: EndpointOptions): Promise<Endpoint> {
  const { address: requested, certificates } = options
  const limits = { ...defaultLimits, ...options.limits }
  const unsent = new UnsentResponses(limits.maxUnsentBytes)
  const ending = new AbortController()
  const pairs = requested.scheme === 'https' ? certificates!(ending.signal)[Symbol.asyncIterator]() : undefined
  try {
    const server = createServer(limits, (await pairs?.next())?.value)
    server.timeout = limits.idleTimeoutMs
    const guard = new ConnectionGuard(server, limits, (request, response) => {
      const { address } = server.address() as AddressInfo
      if (isRebound(address, request, requested.host)) respond(request, response, forbidden)
      else void serve(options, request, response).then(() => unsent.add(response))
    })
    await listen(server, options)
    // Errors of single connections that could not be accepted are ignored: the client retries.
    server.on('error', () => {})
    if (pairs !== undefined) void renew(server as HttpsServer, pairs, options)
    const { port } = server.address() as AddressInfo
    return {
      address: { ...requested, port },
      async close() {
        ending.abort()
        const closed = new Promise<void>((resolve) => server.close(() => resolve()))
        guard.closeAll()
        await closed
      },
    }
  } catch (error) {
    ending.abort()
    throw error
  }
}

function createServer(limits: EndpointLimits, pair: KeyPair | undefined): Server {
  const { requestTimeoutMs, maxHeaderBytes: maxHeaderSize } = limits
  const common = {
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1000,
    maxHeaderSize,
  }
  if (pair === undefined) return createHttpServer(common)
  const server = createHttpsServer({ ...common, ...toContext(pair), handshakeTimeout: requestTimeoutMs })
  // A client that fails in the handshake is disconnected by Node. Without a listener, the connection would be destroyed with an error.
  server.on('tlsClientError', () => {})
  return server as unknown as Server
}

function toContext({ certPem, keyPem }: KeyPair): { cert: string; key: string; minVersion: 'TLSv1.2' } {
  return { cert: certPem, key: keyPem, minVersion: 'TLSv1.2' }
}

/** New connections get the new certificate; open connections are not affected. */
async function renew(server: HttpsServer, pairs: AsyncIterator<KeyPair>, { onError }: EndpointOptions): Promise<void> {
  try {
    for (let next = await pairs.next(); !next.done; next = await pairs.next()) {
      server.setSecureContext(toContext(next.value))
    }
  } catch (error) {
    onError?.(error)
  }
}

async function serve(options: EndpointOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    await options.onRequest(request, response)
  } catch (error) {
    options.onError?.(error)
    if (response.headersSent) response.destroy()
    else respond(request, response, toError(500, 'internal error'))
  }
}

/** Limits the memory of responses that clients do not read: beyond the limit, the oldest one is given up and its client disconnected. */
class UnsentResponses {
  /** In the order in which they were ended, with their size in bytes. */
  readonly #responses = new Map<ServerResponse, number>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Called with a response that was handed over to Node, but perhaps not yet to the operating system. */
  add(response: ServerResponse): void {
    const bytes = response.writableLength
    if (bytes === 0 || response.closed || response.destroyed) return
    this.#responses.set(response, bytes)
    this.#bytes += bytes
    response.once('close', () => this.#remove(response))
    for (const oldest of this.#responses.keys()) {
      if (this.#bytes <= this.#maxBytes || this.#responses.size === 1) break
      this.#remove(oldest)
      oldest.destroy()
    }
  }

  #remove(response: ServerResponse): void {
    this.#bytes -= this.#responses.get(response) ?? 0
    this.#responses.delete(response)
  }
}

const problems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another program; choose another one',
  EACCES: 'this user may not listen on that port; choose one above 1023',
  EADDRNOTAVAIL: 'this machine has no such address; listen on 0.0.0.0, or on localhost',
  ENOTFOUND: 'this machine does not know the name; listen on 0.0.0.0, or on localhost',
}

async function listen(server: Server, { address, name, code }: EndpointOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, () => {
      server.off('error', reject)
      resolve()
    })
  }).catch((cause: NodeJS.ErrnoException) => {
    const why = problems[cause.code ?? ''] ?? cause.message
    throw new KopfError(code, `Cannot serve ${name} at ${formatEndpointAddress(address)}: ${why}`, { cause })
  })
}

/** Guards against DNS rebinding: a web page whose name resolves to this machine sends its own name in the `Host` header. */
function isRebound(bound: string, { headers }: IncomingMessage, ownName: string): boolean {
  if (!isLoopbackAddress(bound)) return false
  const name = toHostName(headers.host)
  return name === undefined || !(name === ownName.toLowerCase() || isLoopbackHost(name))
}

/** A complete answer to a request. */
export interface EndpointAnswer {
  readonly status: number
  /** Default: `application/json`. */
  readonly contentType?: string
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer `{"error": …}`. */
export function toError(status: number, error: string, headers?: Readonly<Record<string, string>>): EndpointAnswer {
  return { status, body: JSON.stringify({ error }), ...(headers && { headers }) }
}

const forbidden = toError(403, 'forbidden')

/** The error for a request that is neither GET nor HEAD, or that has a body; undefined for a request that only reads. */
export function findReadError(request: IncomingMessage): EndpointAnswer | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return toError(405, 'method not allowed', { allow: 'GET, HEAD' })
  }
  return hasBody(request) ? toError(413, 'content too large') : undefined
}

/** The path of a request without its query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0]!
}

/** Sends an answer: without the body for HEAD, never cached, and with the length of the body. Does nothing if the client has disconnected. */
export function respond(request: IncomingMessage, response: ServerResponse, answer: EndpointAnswer): void {
  if (response.destroyed) return
  const { status, contentType = 'application/json', body, headers } = answer
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
    // The body of the request is not read, so the connection cannot be reused.
    ...(hasBody(request) && !request.complete ? { connection: 'close' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
