/**
 * An HTTP server on a loopback address that shows the dashboard of an operator in the browser of this machine. It has a session of its own with the operator, so
 * that the browser gets neither the token of the user nor the cookie of the operator: the browser logs in with a code that works once. Used by `kopf dashboard`,
 * which reaches the operator through the API server, and by `kopf dev`, whose operator is restarted while the page stays open.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { LoginCodes } from '../../dashboard/http/logins.ts'
import {
  checkOrigin,
  cookieName,
  readCookie,
  readJson,
  securityHeaders,
  toCookie,
} from '../../dashboard/http/requests.ts'
import { DashboardSessions, isCsrf } from '../../dashboard/http/sessions.ts'
import { DashboardProblem, foreignRequest, invalidRequest, loginRefused, notLoggedIn } from '../../dashboard/problem.ts'
import type { ApiProblem, SessionInfo } from '../../dashboard/protocol.ts'
import { KopfError } from '../../errors.ts'
import { type Endpoint, pathOf, respond, startEndpoint } from '../../serving/endpoint.ts'
import type { Clock } from '../../util/async/clock.ts'
import { describeError } from '../../util/log/describe-error.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../util/transport.ts'
import { type DashboardClient, toUnreachable } from '../dashboard-client.ts'

export interface LocalDashboardOptions {
  /** 0 for any free port. */
  readonly port: number
  /** Sends requests for the files of the page, which need no session. */
  readonly transport: Transport
  /** The session with the operator. */
  readonly client: DashboardClient
  readonly clock: Clock
}

const host = '127.0.0.1'
/** A browser opens six connections per page. A stream is silent for less than this time. */
const limits = { maxConnections: 64, maxPerAddress: 64, idleTimeoutMs: 120_000, maxHeaderBytes: 16_384 }

/** Request headers that the operator gets. */
const requestHeaders = ['accept', 'accept-encoding', 'content-type', 'last-event-id', 'if-none-match'] as const
/** Response headers of one connection, and the cookie of the operator. */
const droppedHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'set-cookie',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export class LocalDashboard implements AsyncDisposable {
  readonly #options: LocalDashboardOptions
  readonly #codes: LoginCodes
  readonly #sessions: DashboardSessions
  #endpoint!: Endpoint

  private constructor(options: LocalDashboardOptions) {
    this.#options = options
    this.#codes = new LoginCodes(options.clock)
    this.#sessions = new DashboardSessions(options.clock)
  }

  static async start(options: LocalDashboardOptions): Promise<LocalDashboard> {
    const dashboard = new LocalDashboard(options)
    dashboard.#endpoint = await startEndpoint({
      address: { scheme: 'http', host, port: options.port, path: '/' },
      name: 'the dashboard',
      code: 'KOPF_DASHBOARD',
      limits,
      onRequest: (request, response) => dashboard.#answer(request, response),
    })
    return dashboard
  }

  /** The address, without a code. */
  get address(): string {
    return `http://${host}:${this.#endpoint.address.port}/`
  }

  /** A new address that logs one browser in, once and for some minutes. */
  createLoginUrl(): string {
    return `${this.address}#code=${this.#codes.create()}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endpoint.close()
  }

  get #cookieName(): string {
    // Browsers send cookies to all ports of a host: each dashboard on this machine has its own cookie.
    return `${cookieName(false)}-${this.#endpoint.address.port}`
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route(request, response)
    } catch (error) {
      if (response.headersSent) response.destroy()
      else respondProblem(request, response, error)
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request)
    if (!/^\/[\w./-]*$/.test(path) || path.includes('..') || path.includes('//')) {
      throw invalidRequest(404, 'there is nothing at this path')
    }
    if (!path.startsWith('/api/')) return await this.#forwardFile(request, response)
    checkOrigin(request)
    const route = `${request.method} ${path}`
    if (route === 'POST /api/login') await this.#logIn(request, response)
    else if (route === 'GET /api/session') await this.#describeSession(request, response)
    else if (route === 'POST /api/logout') this.#logOut(request, response)
    else await this.#forwardCall(request, response)
  }

  async #logIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { code } = await readJson(request)
    if (typeof code !== 'string') {
      throw loginRefused(401, 'the dashboard on this machine has no tokens; open the address that the command prints')
    }
    // First: while the operator cannot be reached, the code stays valid.
    const { user } = await this.#options.client.session(new AbortController().signal)
    if (!this.#codes.use(code)) {
      throw loginRefused(401, 'the code is used or too old; take a new address from the command')
    }
    const { id, session } = this.#sessions.create({ user, token: undefined })
    const cookie = toCookie(id, { name: this.#cookieName, isSecure: false })
    const { csrf, expiresAtMs } = session
    respondJson(request, response, { user, csrf, expiresAtMs } satisfies SessionInfo, { 'set-cookie': cookie })
  }

  async #describeSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { user, csrf, expiresAtMs } = this.#session(request)
    respondJson(request, response, { user, csrf, expiresAtMs } satisfies SessionInfo)
  }

  #logOut(request: IncomingMessage, response: ServerResponse): void {
    this.#checkCsrf(request)
    this.#sessions.end(readCookie(request, this.#cookieName) ?? '')
    const cookie = toCookie('', { name: this.#cookieName, isSecure: false, isEnded: true })
    response.writeHead(204, { ...securityHeaders, 'set-cookie': cookie }).end()
  }

  #session(request: IncomingMessage): NonNullable<ReturnType<DashboardSessions['use']>> {
    const session = this.#sessions.use(readCookie(request, this.#cookieName) ?? '')
    if (session === undefined) throw notLoggedIn()
    return session
  }

  #checkCsrf(request: IncomingMessage): void {
    const given = request.headers['x-kopf-csrf']
    if (!isCsrf(this.#session(request), typeof given === 'string' ? given : undefined)) {
      throw foreignRequest('its header x-kopf-csrf is not that of the session; reload the page')
    }
  }

  async #forwardFile(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw invalidRequest(405, 'only GET is possible here')
    const { transport } = this.#options
    await forward(request, response, (signal) => transport.send(toRequest(request), signal))
  }

  async #forwardCall(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#session(request)
    const { client } = this.#options
    if (request.method === 'GET') {
      // Streams stay open, and must not occupy the connections of other requests.
      const call = { ...toRequest(request), isUrgent: pathOf(request) === '/api/stream' }
      // A page that shows a stream keeps its session.
      const keepSession = () => void this.#sessions.use(readCookie(request, this.#cookieName) ?? '')
      return await forward(request, response, (signal) => client.send(call, signal), keepSession)
    }
    if (request.method !== 'POST') throw invalidRequest(405, 'only GET and POST are possible here')
    this.#checkCsrf(request)
    const body = JSON.stringify(await readJson(request))
    await forward(request, response, (signal) => client.send({ ...toRequest(request), body }, signal))
  }
}

function toRequest(request: IncomingMessage): TransportRequest {
  const { method = 'GET', url = '/', headers } = request
  const passed = requestHeaders.flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  return { method, path: url, headers: Object.fromEntries(passed) }
}

/** Sends the response of the operator on as it arrives: a stream is not buffered. Ends the request when the browser disconnects. */
async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  send: (signal: AbortSignal) => Promise<TransportResponse>,
  onChunk: () => void = () => {},
): Promise<void> {
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  const { status, headers, body } = await send(closed.signal).catch((error) => {
    throw error instanceof KopfError ? error : toUnreachable(error)
  })
  const kept = Object.entries(headers).filter(([name]) => !droppedHeaders.has(name))
  response.writeHead(status, Object.fromEntries(kept) as Record<string, string>)
  response.flushHeaders()
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  // A broken connection on either side ends the other one.
  await pipeline(Readable.from(watchChunks(body, onChunk)), response).catch(() => response.destroy())
}

async function* watchChunks(
  body: AsyncIterable<Uint8Array>,
  onChunk: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of body) {
    onChunk()
    yield chunk
  }
}

function respondJson(
  request: IncomingMessage,
  response: ServerResponse,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  respond(request, response, { status: 200, body: JSON.stringify(value), headers: { ...securityHeaders, ...headers } })
}

function respondProblem(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const { status, code } = error instanceof DashboardProblem ? error : toProblem(error)
  const body: ApiProblem = { message: describeError(error), code }
  respond(request, response, { status, body: JSON.stringify(body), headers: securityHeaders })
}

/** The operator cannot be reached, or refuses the login of this command. */
function toProblem(error: unknown): { readonly status: number; readonly code: string } {
  return { status: 503, code: error instanceof KopfError ? error.code : 'KOPF_DASHBOARD_UNREACHABLE' }
}
