/**
 * Listens for those who ask how the operator is: a few pages by path, over HTTP. One of the few files that listen on a port.
 * Whoever can reach it may ask: so nothing is told but the pages, and nobody can hold it up for long.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KopfError } from '../../errors.ts'
import { ConnectionGuard, hasBody } from '../../util/connection-guard.ts'
import { formatHealthAddress, type HealthAddress } from '../../util/health-address.ts'

export interface Page {
  readonly status: number
  /** JSON. */
  readonly body: string
}

/** By path. */
export type Pages = ReadonlyMap<string, () => Page | Promise<Page>>

export interface Endpoint {
  /** As it is bound: with the port that was free where any was asked for. */
  readonly address: HealthAddress
  close(): Promise<void>
}

/** Who has not asked within so long does not want to know. */
const patienceMs = 5000
/** More than the longest answer takes. */
const idleMs = 15_000
/** A kubelet has one for each probe, for a moment. */
const connectionLimits = { maxConnections: 256, maxPerAddress: 192 }

const limits = {
  headersTimeout: patienceMs,
  requestTimeout: patienceMs,
  keepAliveTimeout: patienceMs,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8192,
}

export async function startEndpoint(wanted: HealthAddress, pages: Pages): Promise<Endpoint> {
  const server = createServer(limits)
  server.timeout = idleMs
  const guard = new ConnectionGuard(server, connectionLimits, (request, response) => {
    const { address } = server.address() as AddressInfo
    const isForeign = isLoopback(address) && !isLocal(request.headers.host, wanted.host)
    void answer(isForeign ? undefined : pages, request, response)
  })
  await listen(server, wanted)
  // One that could not be accepted: whoever it was asks again.
  server.on('error', () => {})
  const { port } = server.address() as AddressInfo
  return { address: { ...wanted, port }, close: () => close(server, guard) }
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
    throw new KopfError('KOPF_LIVENESS', `Cannot serve the health at ${formatHealthAddress(address)}: ${why}`, {
      cause,
    })
  })
}

async function close(server: Server, guard: ConnectionGuard): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  guard.closeAll()
  await closed
}

/** Without pages: for those who are not to ask at all. */
async function answer(pages: Pages | undefined, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body } = await findPage(pages, request).catch(() => refusal(500, 'internal error'))
  if (response.destroyed) return
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    // What more there is of the request is not read.
    ...(hasBody(request) ? { connection: 'close' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function findPage(pages: Pages | undefined, request: IncomingMessage): Promise<Page> {
  if (pages === undefined) return refusal(403, 'forbidden')
  const page = pages.get(request.url!.split('?')[0]!)
  if (page === undefined) return refusal(404, 'not found')
  if (request.method !== 'GET' && request.method !== 'HEAD') return refusal(405, 'method not allowed')
  if (hasBody(request)) return refusal(413, 'content too large')
  return page()
}

function refusal(status: number, error: string): Page {
  return { status, body: JSON.stringify({ error }) }
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

/** A page of the web could have its own name resolved to this machine, and ask from a browser here: not by our names. */
function isLocal(header: string | undefined, ownName: string): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(:\d*)?$/.exec(header ?? '')?.[1]?.toLowerCase()
  if (name === undefined || name === '') return false
  return name === ownName.toLowerCase() || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(name)
}
