/**
 * Listens for requests to webhooks, with or without TLS. Clients that are slow or silent in a handshake or in the head of a request
 * are cut off here, and connections that are too many by connection-guard.ts. What is asked and answered is that of reviews.ts.
 * Called by serve-reviews.ts.
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

/** `none`: clients are not asked who they are; `optional`: a certificate that is shown must be good; `required`: each shows one. */
export type VerifyMode = 'none' | 'optional' | 'required'

export interface WebhookListenOptions {
  /** Undefined for all interfaces. */
  readonly addr: string | undefined
  /** 0 for any that is free. */
  readonly port: number
  /** Undefined for plain HTTP. */
  readonly tls: SecureContextOptions | undefined
  readonly verifyMode: VerifyMode
}

export interface WebhookListener {
  readonly port: number
  /** New connections see the new certificate; those that are open, and handshakes under way, go on as they are. */
  renew(tls: SecureContextOptions): void
  /** Stops listening, and waits a moment for the reviews under way. */
  close(): Promise<void>
}

/** Who has connected asks within so long, and asks for something. */
const headTimeoutMs = 5000
const limits = {
  headersTimeout: headTimeoutMs,
  // Of the body, too: longer than any review is waited for.
  requestTimeout: 40_000,
  // Longer than API servers keep connections that they do not use (90 s): they must not be hung up on while they ask.
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 1000,
  noDelay: true,
}
/** A connection on which nothing moves during a review: longer than the longest one. */
const idleTimeoutMs = 60_000
/**
 * An API server has one connection for each request that is under way, of which it allows 600 by default. Several API servers may
 * come from one address, such as that of a tunnel to the nodes.
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
    // Its connection is not for further requests.
    if (isClosing) response.shouldKeepAlive = false
    void reviews.serve(request, response)
  })
  await listen(server, options)
  // One that could not be accepted: whoever it was asks again.
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
    logger.debug(`A client has not got through the TLS handshake: ${error.code ?? 'no reason given'}`)
  })
  // Node asks for certificates and takes any, or demands good ones; in between, that is for us to see to.
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
  EADDRINUSE: 'the port is taken by another program; choose another one, or none for any that is free',
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
