/**
 * Listens for webhook requests, with or without TLS. Disconnects clients that are too slow in the TLS handshake or in the request headers; the number of
 * connections is limited by connection-guard.ts. Called by serve-reviews.ts; review-request.ts handles the requests.
 */
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { KopfError } from '../../errors.ts'
import type { WebhookContext } from '../../settings/webhook-server.ts'
import { withTimeout } from '../../util/async/with-timeout.ts'
import { ConnectionGuard } from '../../util/process/connection-guard.ts'
import type { ReviewRequests } from './review-request.ts'

/**
 * Whether a webhook server requests client certificates. `none`: no. `optional`: a client may connect without a certificate, but not with an invalid one.
 * `required`: every client must present a valid certificate. Handlers get the certificate as `sslpeer`.
 */
export type VerifyMode = 'none' | 'optional' | 'required'

export interface WebhookListenOptions {
  /** Undefined for all interfaces. */
  readonly addr: string | undefined
  /** 0 for any free port. */
  readonly port: number
  /** Undefined for plain HTTP. */
  readonly tls: SecureContextOptions | undefined
  readonly verifyMode: VerifyMode
}

export interface WebhookListener {
  readonly port: number
  /** Uses new certificates for new connections. Open connections and running handshakes are not affected. */
  renew(tls: SecureContextOptions): void
  /** Stops listening, and waits up to two seconds for the running reviews. */
  close(): Promise<void>
}

/** A client must finish its TLS handshake, and then the headers of its request, within this time. */
const headTimeoutMs = 5000
const limits = {
  headersTimeout: headTimeoutMs,
  // For the whole request with its body: longer than an API server waits for any review.
  requestTimeout: 40_000,
  // Longer than API servers keep idle connections (90 s): a connection must not be closed while an API server sends a request on it.
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 1000,
  noDelay: true,
}
/** An idle connection is closed after this time: longer than the longest review. */
const idleTimeoutMs = 60_000
/**
 * An API server opens one connection for each running request, of which it allows 600 by default. Several API servers may share one address, such as
 * that of a tunnel to the nodes.
 */
const connectionLimits = { maxConnections: 1024, maxPerAddress: 768 }
/** How long reviews may take to end when the server stops. */
const closeTimeoutMs = 2000

type ListenerContext = Pick<WebhookContext, 'clock' | 'logger'>

export async function startListener(
  options: WebhookListenOptions,
  reviews: ReviewRequests,
  context: ListenerContext,
): Promise<WebhookListener> {
  let isClosing = false
  const server = createServer(options, context)
  server.timeout = idleTimeoutMs
  const guard = new ConnectionGuard(server as HttpServer, connectionLimits, (request, response) => {
    // The connection is closed after this response.
    if (isClosing) response.shouldKeepAlive = false
    void reviews.serve(request, response)
  })
  await listen(server, options)
  // Errors of single connections that could not be accepted are ignored: the client retries.
  server.on('error', () => {})
  return {
    port: (server.address() as AddressInfo).port,
    renew: (tls) => (server as HttpsServer).setSecureContext(withMinVersion(tls)),
    async close() {
      isClosing = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await withTimeout(context.clock, closeTimeoutMs, reviews.settled())
      guard.closeAll()
      await closed
    },
  }
}

function createServer(
  { tls, verifyMode }: WebhookListenOptions,
  { logger }: ListenerContext,
): HttpServer | HttpsServer {
  if (tls === undefined) return createHttpServer(limits)
  const server = createHttpsServer({
    ...limits,
    ...withMinVersion(tls),
    handshakeTimeout: headTimeoutMs,
    requestCert: verifyMode !== 'none',
    rejectUnauthorized: verifyMode === 'required',
  })
  server.on('tlsClientError', (error: NodeJS.ErrnoException) => {
    logger.debug(`The TLS handshake with a client has failed: ${error.code ?? 'no reason given'}`)
  })
  // Node either accepts any client certificate or requires a valid one; `optional` is checked here.
  server.on('secureConnection', (socket: TLSSocket) => {
    if (verifyMode === 'optional' && !socket.authorized && hasCertificate(socket)) socket.destroy()
  })
  return server
}

function withMinVersion(tls: SecureContextOptions): SecureContextOptions {
  return { minVersion: 'TLSv1.2', ...tls }
}

function hasCertificate(socket: TLSSocket): boolean {
  return Object.keys(socket.getPeerCertificate() ?? {}).length > 0
}

const problems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another program; choose another one, or none for any free port',
  EACCES: 'this user may not listen on that port; choose one above 1023',
  EADDRNOTAVAIL: 'this machine has no such address; leave out `addr` to listen on all that it has',
  ENOTFOUND: 'this machine does not know the name; leave out `addr` to listen on all its addresses',
}

async function listen(server: HttpServer | HttpsServer, { addr, port }: WebhookListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, ...(addr === undefined ? {} : { host: addr }) }, () => {
      server.off('error', reject)
      resolve()
    })
  }).catch((cause: NodeJS.ErrnoException) => {
    const why = problems[cause.code ?? ''] ?? cause.message
    const where = `port ${port}${addr === undefined ? '' : ` of ${addr}`}`
    throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot listen for webhooks on ${where}: ${why}`, { cause })
  })
}
