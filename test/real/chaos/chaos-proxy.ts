/**
 * A proxy between an operator and a real API server, which causes the faults of proxy-faults.ts. Plain HTTP in front, TLS with a
 * client certificate behind. Records all requests, and changes nothing without a fault. Used by the tests of this folder and by the
 * soak; tests edit objects directly, without the proxy.
 */
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Credentials } from '../../../tools/envtest/certificates.ts'
import { type Tap, WatchPipe } from './watch-pipe.ts'

export interface Passing {
  readonly method: string
  /** The path without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly isWatch: boolean
  /** Whether the request writes an object other than a Kubernetes event. */
  readonly isWrite: boolean
  readonly atMs: number
}

export type Fate =
  /** The request is forwarded after a delay. */
  | { readonly type: 'delay'; readonly ms: number }
  /** The request is not forwarded, and gets this response. */
  | {
      readonly type: 'answer'
      readonly status: number
      readonly headers?: http.OutgoingHttpHeaders
      readonly body: string
    }
  /** The request is not forwarded, and the connection is reset. */
  | { readonly type: 'reset' }
  /** The request is forwarded, and the connection is reset before the response. */
  | { readonly type: 'lose' }
  /** The request gets no response, and the connection stays open. */
  | { readonly type: 'hang' }
  /** The response arrives in small pieces with pauses. */
  | { readonly type: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** The stream of this watch goes through the tap. */
  | { readonly type: 'tap'; readonly tap: Tap }

/** Decides about a request. Undefined forwards it unchanged. */
export type Fault = (request: Passing) => Fate | undefined

export interface Upstream {
  readonly url: string
  readonly caPem: string
  readonly admin: Credentials
}

export class ChaosProxy implements AsyncDisposable {
  readonly requests: Passing[] = []
  /** The open watches, the oldest first. */
  readonly watches: Set<WatchPipe> = new Set()
  fault: Fault = () => undefined
  /** The number of requests with a fault. */
  faulted = 0
  readonly #upstream: Upstream
  readonly #agent: https.Agent
  readonly #server: http.Server
  #port = 0

  static async start(upstream: Upstream): Promise<ChaosProxy> {
    const proxy = new ChaosProxy(upstream)
    await proxy.accept()
    return proxy
  }

  constructor(upstream: Upstream) {
    this.#upstream = upstream
    const { caPem, admin } = upstream
    this.#agent = new https.Agent({ keepAlive: true, ca: caPem, cert: admin.certPem, key: admin.keyPem })
    this.#server = http.createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Stops listening, and closes all connections. */
  async refuse(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  /** Listens again, at the same address. */
  async accept(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.#port, '127.0.0.1', () => resolve())
    })
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Ends the fault for new requests. Open connections keep theirs. */
  heal(): void {
    this.fault = () => undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.refuse()
    this.#agent.destroy()
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = await buffer(request)
    const passing = toPassing(request)
    this.requests.push(passing)
    const fate = this.fault(passing)
    if (fate === undefined) return this.#forward({ request, response, body, passing })
    this.faulted += 1
    if (fate.type === 'hang') return
    if (fate.type === 'reset') return void response.socket?.resetAndDestroy()
    if (fate.type === 'answer') {
      response.writeHead(fate.status, { 'content-type': 'application/json', ...fate.headers }).end(fate.body)
      return
    }
    if (fate.type === 'delay') await sleep(fate.ms)
    return this.#forward({ request, response, body, passing, fate })
  }

  #forward({ request, response, body, passing, fate }: Exchange): void {
    const { host: _, connection: __, ...headers } = request.headers
    const outgoing = https.request(new URL(request.url!, this.#upstream.url), {
      agent: this.#agent,
      method: request.method!,
      headers,
    })
    outgoing.on('error', () => response.socket?.resetAndDestroy())
    response.on('close', () => outgoing.destroy())
    outgoing.on('response', (incoming) => {
      incoming.on('error', () => response.destroy())
      if (fate?.type === 'lose') {
        incoming.resume().on('end', () => response.socket?.resetAndDestroy())
        return
      }
      response.writeHead(incoming.statusCode!, incoming.headers)
      // A watch without events yet has started too.
      response.flushHeaders()
      if (fate?.type === 'drip') return void drip(incoming, response, fate)
      if (passing.isWatch && incoming.statusCode === 200) return this.#follow(incoming, response, fate)
      incoming.pipe(response)
    })
    outgoing.end(body)
  }

  #follow(incoming: http.IncomingMessage, response: http.ServerResponse, fate: Fate | undefined): void {
    const pipe = new WatchPipe(response)
    if (fate?.type === 'tap') pipe.tap = fate.tap
    this.watches.add(pipe)
    response.on('close', () => this.watches.delete(pipe))
    incoming.on('data', (chunk: Buffer) => pipe.take(chunk))
    incoming.on('end', () => pipe.end())
  }
}

interface Exchange {
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
  readonly body: Buffer
  readonly passing: Passing
  readonly fate?: Fate
}

function toPassing({ method = '', url = '' }: http.IncomingMessage): Passing {
  const { pathname, searchParams } = new URL(url, 'http://proxy')
  const isWatch = searchParams.get('watch') === 'true'
  const isWrite = method !== 'GET' && !pathname.endsWith('/events')
  return { method, path: pathname, query: searchParams, isWatch, isWrite, atMs: Date.now() }
}

async function drip(
  incoming: http.IncomingMessage,
  response: http.ServerResponse,
  { bytes, everyMs }: Extract<Fate, { type: 'drip' }>,
): Promise<void> {
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length && !response.destroyed; at += bytes) {
      response.write(chunk.subarray(at, at + bytes))
      await sleep(everyMs)
    }
  }
  response.end()
}
