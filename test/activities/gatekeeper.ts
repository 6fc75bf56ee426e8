/**
 * A proxy between an operator and the cluster under test. It answers 401 unless the token is in `good`, so that tests can
 * revoke credentials and restore them at any time, on any server.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, vi } from 'vitest'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import type { Cluster } from '../support/cluster.ts'
import { connectionTo } from './activity-support.ts'

interface Seen {
  readonly token: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly body: string
}

export class Gatekeeper {
  /** The accepted tokens. */
  readonly good: Set<string> = new Set()
  /** Each n-th request is refused with 401, even if its token is accepted. */
  everyNth: number = Number.POSITIVE_INFINITY
  readonly seen: Seen[] = []
  readonly open: Set<Socket> = new Set()
  #count = 0
  readonly #streams = new Set<ServerResponse>()
  readonly #server: Server
  readonly #transport: HttpsTransport

  constructor(cluster: Pick<Cluster, 'url' | 'caPem' | 'admin'>) {
    this.#transport = createHttpsTransport(connectionTo(cluster))
    this.#server = createServer((request, response) => void this.#serve(request, response).catch(() => {}))
    this.#server.on('connection', (socket) => {
      this.open.add(socket)
      socket.on('close', () => this.open.delete(socket))
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get refused(): readonly Seen[] {
    return this.seen.filter(({ status }) => status === 401)
  }

  get watches(): readonly Seen[] {
    return this.seen.filter(({ path, status }) => /[?&]watch=/.test(path) && status === 200)
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  /** Ends the open watch streams as a server does, without an error. */
  endStreams(): void {
    for (const response of this.#streams) response.end()
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve).closeAllConnections())
    await this.#transport.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization = '', host, connection, ...headers } = request.headers
    const token = authorization.replace('Bearer ', '')
    this.#count += 1
    const number = this.#count
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const note = (status: number) =>
      this.seen.push({ token, method: request.method!, path: request.url!, status, body }) && status
    if (!this.good.has(token) || number % this.everyNth === 0) {
      response.writeHead(note(401), { 'content-type': 'application/json' })
      response.end(JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Unauthorized', code: 401 }))
      return
    }
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const answer = await this.#transport.send(
      {
        method: request.method!,
        path: request.url!,
        headers: headers as Record<string, string>,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      },
      gone.signal,
    )
    const { 'content-length': _, 'transfer-encoding': __, ...answered } = answer.headers
    response.writeHead(note(answer.status), answered as Record<string, string>)
    response.flushHeaders()
    this.#streams.add(response)
    try {
      for await (const chunk of answer.body) response.write(chunk)
    } finally {
      this.#streams.delete(response)
      response.end()
    }
  }
}

/** Starts a gatekeeper for the test; closes it after the test. */
export function useGatekeeper(cluster: Cluster): () => Promise<Gatekeeper> {
  const started: Gatekeeper[] = []
  afterEach(async () => {
    for (const gatekeeper of started.splice(0)) await gatekeeper.close()
  })
  return async () => {
    const gatekeeper = await new Gatekeeper(cluster).listen()
    started.push(gatekeeper)
    return gatekeeper
  }
}

/** Polls in real time until the condition holds. */
export function until(isSo: () => unknown): Promise<void> {
  const check = () => {
    if (!isSo()) throw new Error(`It never came to be: ${isSo}`)
  }
  return vi.waitFor(check, { timeout: 15_000, interval: 20 })
}
