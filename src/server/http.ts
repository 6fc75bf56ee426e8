/** Serves an ApiServer on a port: reads and writes HTTP messages, limits bodies, and closes connections on connection faults. */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { nextTurn, systemClock } from '../util/async/clock.ts'
import type { KeyPair } from '../util/certificates.ts'
import { type ApiServer, maxBodyBytes } from './api-server.ts'
import { refusalOfBrowser } from './browser-guard.ts'
import { type ApiResponse, jsonAnswer } from './call.ts'
import type { ConnectionPeer } from './identity/authentication.ts'
import { headerSeparator, impersonationHeaders } from './identity/impersonation-headers.ts'
import { ConnectionFault } from './interruptible-body.ts'
import { entityTooLarge, type StatusError } from './status.ts'

export interface HttpListenOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Undefined for plain HTTP. */
  readonly tls?: { readonly serving: KeyPair; readonly clientCa: string }
}

export interface HttpListener {
  readonly port: number
  /** Closes every connection immediately, like a network failure. */
  breakConnections(): void
  close(): Promise<void>
}

/** How long pending responses may take when the server stops. */
const closeTimeoutMs = 200

export async function listen(api: ApiServer, options: HttpListenOptions): Promise<HttpListener> {
  const exchanges = new Set<Promise<void>>()
  const peerOf = rememberPeers()
  const isGuarded = api.isOpen || options.tls === undefined
  const server = createServer(options, (request, response) => {
    const refusal = isGuarded ? refusalOfBrowser(request.headers) : undefined
    const done = (
      refusal === undefined ? exchange(api, peerOf, request, response) : refuse(refusal, request, response)
    ).finally(() => exchanges.delete(done))
    exchanges.add(done)
  })
  // Most connections are long-lived watches and idle keep-alive connections.
  server.keepAliveTimeout = 180_000
  // kube-apiserver's limit for receiving a whole request. Without it, a client that sends a byte now and then holds a connection and its
  // memory forever.
  server.requestTimeout = 60_000
  // Includes sockets that are still in the TLS handshake, which `server.closeAllConnections` does not know.
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await startListening(server, options)
  const breakConnections = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    breakConnections,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await settled(exchanges)
      breakConnections()
      await closed
    },
  }
}

async function startListening(server: Server, { host, port }: HttpListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Waits for pending responses to finish, but not longer than the timeout. */
async function settled(exchanges: Iterable<Promise<void>>): Promise<void> {
  const enough = new AbortController()
  const timeout = systemClock.sleep(closeTimeoutMs, enough.signal).catch(() => {})
  await Promise.race([Promise.all(exchanges), timeout])
  enough.abort()
}

type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void

function createServer({ tls }: HttpListenOptions, serve: HttpHandler): Server {
  if (tls === undefined) return createHttpServer({ noDelay: true }, serve)
  const { serving, clientCa } = tls
  return createHttpsServer(
    {
      cert: serving.certPem,
      key: serving.keyPem,
      ca: clientCa,
      // Clients with tokens have no certificate; certificates of other CAs are marked as untrusted in `readPeer`.
      requestCert: true,
      rejectUnauthorized: false,
      noDelay: true,
    },
    serve,
  )
}

async function exchange(
  api: ApiServer,
  peerOf: PeerOf,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  // Not after a complete response: there is no listener left, and creating the abort reason is expensive.
  response.once('close', () => response.writableFinished || gone.abort())
  response.on('error', () => gone.abort())
  try {
    const body = await readBody(request)
    const answer =
      body === undefined ? tooLarge : await api.answer(toRequest(request, body), peerOf(request.socket), gone.signal)
    await write(response, answer, request.method === 'HEAD')
  } catch (error) {
    // Only connection faults are expected here. On any other error the connection is closed, so that the client does not wait forever.
    if (error instanceof ConnectionFault) response.socket?.destroySoon()
    else {
      if (!gone.signal.aborted) api.reportBug({ method: request.method ?? '', path: request.url ?? '/' }, error)
      response.destroy()
    }
  }
}

const tooLarge = failureOf(entityTooLarge(`limit is ${maxBodyBytes}`))

function failureOf(error: StatusError): ApiResponse {
  return jsonAnswer(error.code, error.toStatus())
}

/** The connection closes after the response, so that the body is not read. */
async function refuse(error: StatusError, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.shouldKeepAlive = false
  response.on('error', () => {})
  await write(response, failureOf(error), request.method === 'HEAD')
}

function toRequest(request: IncomingMessage, body: Buffer): Parameters<ApiServer['answer']>[0] {
  return { method: request.method ?? 'GET', path: request.url ?? '/', headers: toHeaders(request), body }
}

/** Node joins headers of one name with commas, which group names may contain. */
function toHeaders({ headers, headersDistinct }: IncomingMessage): Record<string, string> {
  const plain = headers as Record<string, string>
  const repeated = impersonationHeaders(plain)
  if (repeated.length === 0) return plain
  return {
    ...plain,
    ...Object.fromEntries(repeated.map((name) => [name, headersDistinct[name]!.join(headerSeparator)])),
  }
}

/**
 * Undefined if the body is too large. The remaining bytes are read and discarded, so that a client that sends everything before it
 * reads still gets the response.
 */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBodyBytes) chunks.push(chunk)
      else resolve(undefined)
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new Error('The client went away before it had sent all'))
    })
  })
}

type PeerOf = (socket: Socket) => ConnectionPeer

/** Cached per connection: the peer does not change, and reading a certificate costs more than most requests. */
function rememberPeers(): PeerOf {
  const known = new WeakMap<Socket, ConnectionPeer>()
  return (socket) => {
    const peer = known.get(socket) ?? readPeer(socket)
    known.set(socket, peer)
    return peer
  }
}

/** The peer of a connection, if its client certificate is signed by our own CA. Certificates of other CAs are untrusted. */
function readPeer(socket: Socket): ConnectionPeer {
  const tls = socket as Partial<TLSSocket>
  const certificate = tls.getPeerCertificate?.()
  const subject = certificate?.subject
  if (certificate === undefined || subject === undefined) return {}
  if (tls.authorized !== true) return { isUntrusted: true }
  const { CN = '', O: organizations = [] } = subject as Partial<Record<'CN' | 'O', string | string[]>>
  const commonName = [CN].flat().at(-1)
  // A client certificate without a CN does not authenticate.
  if (!commonName) return {}
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  return { certificate: { commonName, organizations: [organizations].flat(), fingerprint } }
}

type Head = Record<string, string | string[]>

/**
 * Warnings may contain any character and are sent as UTF-8. Node writes the head as Latin-1 if a buffer follows, otherwise as UTF-8
 * (as for a watch), and rejects characters beyond Latin-1 in both cases.
 */
function toHead(headers: ApiResponse['headers'], isFollowed: boolean): Head {
  const head = headers as Head
  if (head['warning'] === undefined) return head
  const toLine = (text: string) =>
    isFollowed ? Buffer.from(text).toString('latin1') : text.replace(/[^\0-\xff]/gu, '?')
  return { ...head, warning: [head['warning']].flat().map(toLine) }
}

async function write(response: ServerResponse, { status, headers, body }: ApiResponse, isHead: boolean): Promise<void> {
  if (typeof body === 'string') {
    response.writeHead(status, { ...toHead(headers, !isHead), 'content-length': Buffer.byteLength(body) })
    response.end(isHead ? undefined : headers['warning'] === undefined ? body : Buffer.from(body))
    return
  }
  response.writeHead(status, toHead(headers, false))
  if (isHead) {
    response.end()
    await body[Symbol.asyncIterator]().return?.()
    return
  }
  for await (const chunk of body) {
    if (response.destroyed) return
    // A watch starts with an empty chunk: sending the headers tells the client that the watch is established.
    if (chunk.length === 0) response.flushHeaders()
    else if (!response.write(chunk)) await drained(response)
    // Yields to the event loop, so that a burst of changes reaches a watcher in a few large chunks: each chunk costs as much as a small
    // response.
    await nextTurn()
  }
  response.end()
}

/** Backpressure: pending events stay in the watch, which is closed if there are too many. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle)
      response.off('close', settle)
      resolve()
    }
    response.on('drain', settle)
    response.on('close', settle)
  })
}
