/** The embedded server behind a port: HTTP messages in and out, bodies bounded, connections broken where a fault says so. */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { KeyPair } from '../util/certificates.ts'
import { nextTurn, systemClock } from '../util/clock.ts'
import { type ApiServer, maxBodyBytes } from './api-server.ts'
import { refusalOfBrowser } from './browser-guard.ts'
import type { Answer } from './call.ts'
import { jsonAnswer } from './call.ts'
import type { Peer } from './identity/authentication.ts'
import { headerSeparator, impersonationHeaders } from './identity/impersonation-headers.ts'
import { ConnectionFault } from './reachable-body.ts'
import { entityTooLarge, type StatusError } from './status.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Absent for plain HTTP. */
  readonly tls?: { readonly serving: KeyPair; readonly clientCa: string }
}

export interface Listener {
  readonly port: number
  /** Breaks every connection at once, as a network failure would. */
  breakConnections(): void
  close(): Promise<void>
}

/** How long answers may take to be finished when the server stops. */
const patienceMs = 200

export async function listen(api: ApiServer, options: ListenOptions): Promise<Listener> {
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
  // Long-lived watches and idle keep-alive connections are the rule here.
  server.keepAliveTimeout = 180_000
  // But a request has to come in full within the time that the real server gives it: else whoever sends a byte now and then
  // holds a connection, and what was sent on it, for ever.
  server.requestTimeout = 60_000
  // Of those that are still shaking hands, the server itself keeps no account.
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

async function startListening(server: Server, { host, port }: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** What was told to end does so in good order; what does not, for whatever reason, is not waited for. */
async function settled(exchanges: Iterable<Promise<void>>): Promise<void> {
  const enough = new AbortController()
  const patience = systemClock.sleep(patienceMs, enough.signal).catch(() => {})
  await Promise.race([Promise.all(exchanges), patience])
  enough.abort()
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void

function createServer({ tls }: ListenOptions, serve: Serve): Server {
  if (tls === undefined) return createHttpServer({ noDelay: true }, serve)
  const { serving, clientCa } = tls
  return createHttpsServer(
    {
      cert: serving.certPem,
      key: serving.keyPem,
      ca: clientCa,
      // Tokens come without a certificate; certificates of others are told apart in `peerOf`.
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
  // Not where all is sent: nobody would hear of it, and making the reason is dear.
  response.once('close', () => response.writableFinished || gone.abort())
  response.on('error', () => gone.abort())
  try {
    const body = await readBody(request)
    const answer =
      body === undefined ? tooLarge : await api.answer(toRequest(request, body), peerOf(request.socket), gone.signal)
    await write(response, answer, request.method === 'HEAD')
  } catch (error) {
    // Nothing else can go wrong where the server is sound; and if it is not, the client must not wait for ever.
    if (error instanceof ConnectionFault) response.socket?.destroySoon()
    else {
      if (!gone.signal.aborted) api.reportBug({ method: request.method ?? '', path: request.url ?? '/' }, error)
      response.destroy()
    }
  }
}

const tooLarge = failureOf(entityTooLarge(`limit is ${maxBodyBytes}`))

function failureOf(error: StatusError): Answer {
  return jsonAnswer(error.code, error.toStatus())
}

/** The connection ends with the answer, so that nothing of the body is read. */
async function refuse(error: StatusError, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.shouldKeepAlive = false
  response.on('error', () => {})
  await write(response, failureOf(error), request.method === 'HEAD')
}

function toRequest(request: IncomingMessage, body: Buffer): Parameters<ApiServer['answer']>[0] {
  return { method: request.method ?? 'GET', path: request.url ?? '/', headers: toHeaders(request), body }
}

/** Node joins headers of one name by commas, which groups may have in their names. */
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
 * Undefined where the client sends more than the API takes. The rest is read all the same, and forgotten: so the client,
 * which may first send and then listen, hears the answer.
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

type PeerOf = (socket: Socket) => Peer

/** A connection has one peer for all its life, and reading a certificate is dearer than most requests. */
function rememberPeers(): PeerOf {
  const known = new WeakMap<Socket, Peer>()
  return (socket) => {
    const peer = known.get(socket) ?? readPeer(socket)
    known.set(socket, peer)
    return peer
  }
}

/** Whom our own authority has given a certificate; one of another authority says nothing of anybody. */
function readPeer(socket: Socket): Peer {
  const tls = socket as Partial<TLSSocket>
  const certificate = tls.getPeerCertificate?.()
  const subject = certificate?.subject
  if (certificate === undefined || subject === undefined) return {}
  if (tls.authorized !== true) return { isUntrusted: true }
  const { CN = '', O: organizations = [] } = subject as Partial<Record<'CN' | 'O', string | string[]>>
  const commonName = [CN].flat().at(-1)
  // A name is what it takes to be somebody.
  if (!commonName) return {}
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  return { certificate: { commonName, organizations: [organizations].flat(), fingerprint } }
}

type Head = Record<string, string | string[]>

/**
 * Warnings may hold any character, and in a header they are UTF-8. Node writes a head in Latin-1 where a buffer follows, in
 * UTF-8 where none does, as in a watch; and takes no character beyond Latin-1 in either.
 */
function toHead(headers: Answer['headers'], isFollowed: boolean): Head {
  const head = headers as Head
  if (head['warning'] === undefined) return head
  const toLine = (text: string) =>
    isFollowed ? Buffer.from(text).toString('latin1') : text.replace(/[^\0-\xff]/gu, '?')
  return { ...head, warning: [head['warning']].flat().map(toLine) }
}

async function write(response: ServerResponse, { status, headers, body }: Answer, isHead: boolean): Promise<void> {
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
    // The empty chunk that a watch begins with: the client learns that it is watching.
    if (chunk.length === 0) response.flushHeaders()
    else if (!response.write(chunk)) await drained(response)
    // A burst of writes reaches a watcher in a few large pieces: each piece costs as much as a small answer.
    await nextTurn()
  }
  response.end()
}

/** As fast as the client reads: what it does not take waits in the watch, which is cut off if that is too much. */
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
