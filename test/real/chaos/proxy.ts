/**
 * Stands between an operator and a real API server, and does to its requests what networks and servers do: see faults.ts.
 * Plain HTTP in front, TLS with a client certificate behind. Counts what is asked; changes nothing unless told to.
 * Used by the tests of this folder and by the soak; the ones who edit objects do so past it.
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
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly isWatch: boolean
  /** Would change something other than a Kubernetes event. */
  readonly isWrite: boolean
  readonly atMs: number
}

export type Fate =
  /** The server is asked only after so long. */
  | { readonly type: 'delay'; readonly ms: number }
  /** The server is not asked; this is the answer. */
  | {
      readonly type: 'answer'
      readonly status: number
      readonly headers?: http.OutgoingHttpHeaders
      readonly body: string
    }
  /** The server is not asked, and the connection breaks. */
  | { readonly type: 'reset' }
  /** The server does what it was asked to; the connection breaks before the answer. */
  | { readonly type: 'lose' }
  /** Nobody answers, and nobody hangs up. */
  | { readonly type: 'hang' }
  /** The answer comes so many bytes at a time, with a pause after each. */
  | { readonly type: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** What comes on this watch goes through somebody's hands. */
  | { readonly type: 'tap'; readonly tap: Tap }

/** Undefined: it passes. */
export type Fault = (request: Passing) => Fate | undefined

export interface Upstream {
  readonly url: string
  readonly caPem: string
  readonly admin: Credentials
}

export class ChaosProxy implements AsyncDisposable {
  readonly requests: Passing[] = []
  /** Those that are open, the oldest first. */
  readonly watches: Set<WatchPipe> = new Set()
  fault: Fault = () => undefined
  /** How many requests did not just pass. */
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

  /** Nobody listens any more, and all connections are gone. */
  async refuse(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  /** At the same address as before. */
  async accept(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.#port, '127.0.0.1', () => resolve())
    })
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** From now on nothing is wrong; what is wrong with connections that are open stays so. */
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
      // A watch of which nothing has come yet has begun all the same.
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
