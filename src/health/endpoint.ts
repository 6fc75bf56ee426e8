/**
 * The HTTP server of the health endpoint: serves a few pages by path. There is no authentication, so that it serves nothing but these
 * pages, and limits the time and the number of connections.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KopfError } from '../errors.ts'
import { ConnectionGuard, hasBody } from '../util/process/connection-guard.ts'
import { formatHealthAddress, type HealthAddress } from './address.ts'

export interface HealthPage {
  readonly status: number
  /** JSON text. */
  readonly body: string
}

/** Functions that create a page, by path. */
export type HealthPages = ReadonlyMap<string, () => HealthPage | Promise<HealthPage>>

export interface HealthEndpoint {
  /** The bound address, with the actual port if port 0 was requested. */
  readonly address: HealthAddress
  close(): Promise<void>
}

/** A client must send its request within this time. */
const requestTimeoutMs = 5000
/** Longer than the slowest response takes. */
const socketTimeoutMs = 15_000
/** A kubelet opens one short connection per probe. */
const connectionLimits = { maxConnections: 256, maxPerAddress: 192 }

const limits = {
  headersTimeout: requestTimeoutMs,
  requestTimeout: requestTimeoutMs,
  keepAliveTimeout: requestTimeoutMs,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8192,
}

export async function startEndpoint(requested: HealthAddress, pages: HealthPages): Promise<HealthEndpoint> {
  const server = createServer(limits)
  server.timeout = socketTimeoutMs
  const guard = new ConnectionGuard(server, connectionLimits, (request, response) => {
    const { address } = server.address() as AddressInfo
    const isRebound = isLoopback(address) && !isLocal(request.headers.host, requested.host)
    void respond(isRebound ? undefined : pages, request, response)
  })
  await listen(server, requested)
  // Errors of single connections that could not be accepted are ignored: the client retries.
  server.on('error', () => {})
  const { port } = server.address() as AddressInfo
  return { address: { ...requested, port }, close: () => close(server, guard) }
}

const problems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another program; choose another one',
  EACCES: 'this user may not listen on that port; choose one above 1023',
  EADDRNOTAVAIL: 'this machine has no such address; listen on 0.0.0.0, or on localhost',
  ENOTFOUND: 'this machine does not know the name; listen on 0.0.0.0, or on localhost',
}

async function listen(server: Server, address: HealthAddress): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, () => {
      server.off('error', reject)
      resolve()
    })
  }).catch((cause: NodeJS.ErrnoException) => {
    const why = problems[cause.code ?? ''] ?? cause.message
    throw new KopfError('KOPF_LIVENESS', `Cannot serve health probes at ${formatHealthAddress(address)}: ${why}`, {
      cause,
    })
  })
}

async function close(server: Server, guard: ConnectionGuard): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  guard.closeAll()
  await closed
}

/** Undefined pages: the request is forbidden. */
async function respond(
  pages: HealthPages | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, body } = await findPage(pages, request).catch(() => errorPage(500, 'internal error'))
  if (response.destroyed) return
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    // The body of the request is not read, so the connection cannot be reused.
    ...(hasBody(request) ? { connection: 'close' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function findPage(pages: HealthPages | undefined, request: IncomingMessage): Promise<HealthPage> {
  if (pages === undefined) return errorPage(403, 'forbidden')
  const page = pages.get(request.url!.split('?')[0]!)
  if (page === undefined) return errorPage(404, 'not found')
  if (request.method !== 'GET' && request.method !== 'HEAD') return errorPage(405, 'method not allowed')
  if (hasBody(request)) return errorPage(413, 'content too large')
  return page()
}

function errorPage(status: number, error: string): HealthPage {
  return { status, body: JSON.stringify({ error }) }
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

/** Guards against DNS rebinding: a web page whose name resolves to this machine sends its own name in the Host header. */
function isLocal(header: string | undefined, ownName: string): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(:\d*)?$/.exec(header ?? '')?.[1]?.toLowerCase()
  if (name === undefined || name === '') return false
  return name === ownName.toLowerCase() || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(name)
}
