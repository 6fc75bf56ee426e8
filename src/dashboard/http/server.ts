/**
 * Answers the requests of the dashboard: the files of the page, the login, the views, the streams and the actions. Started by start-dashboard.ts, on an endpoint of
 * src/serving.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliDecompressSync } from 'node:zlib'
import { KopfError } from '../../errors.ts'
import { AccessReviewError, type AccessReviews } from '../../serving/access-reviews.ts'
import { isLoopbackAddress, type ServingAddress } from '../../serving/address.ts'
import { pathOf, respond } from '../../serving/endpoint.ts'
import { type Clock, monotonicMs, systemClock } from '../../util/async/clock.ts'
import { getString } from '../../util/json/json.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { LruMap } from '../../util/lru-map.ts'
import { act } from '../actions.ts'
import { DashboardProblem, foreignRequest, invalidRequest, loginRefused, notLoggedIn } from '../problem.ts'
import type { SessionInfo, ViewName, Views } from '../protocol.ts'
import { Developer, ReviewedViewer, type Viewer } from '../viewer.ts'
import { viewObject } from '../views/object-view.ts'
import { viewObjects } from '../views/objects-view.ts'
import { viewOverview } from '../views/overview.ts'
import { viewProblems } from '../views/problems-view.ts'
import { queryKey, readQuery } from '../views/query.ts'
import type { ViewRequest, ViewSource } from '../views/source.ts'
import { viewHandlers, viewRequests, viewWebhooks } from '../views/tables.ts'
import { EventStreams } from './event-streams.ts'
import type { LoginCodes } from './logins.ts'
import { loginLimit, RateLimit, viewLimit } from './rate-limit.ts'
import { checkOrigin, cookieName, readCookie, readJson, securityHeaders, toCookie } from './requests.ts'
import { DashboardSessions, isCsrf, type SessionOwner, type UserSession } from './sessions.ts'

type ViewFunctions = {
  readonly [N in ViewName]: (source: ViewSource, request: ViewRequest) => Views[N] | Promise<Views[N]>
}

const views: ViewFunctions = {
  overview: viewOverview,
  objects: viewObjects,
  object: viewObject,
  handlers: viewHandlers,
  requests: viewRequests,
  webhooks: viewWebhooks,
  problems: viewProblems,
}

function isViewName(name: string): name is ViewName {
  return Object.hasOwn(views, name)
}

/** A file of the page, compressed with Brotli. */
export interface PageAsset {
  readonly body: Uint8Array
  readonly contentType: string
  readonly encoding: 'br'
}

export interface DashboardServerOptions {
  readonly source: ViewSource
  readonly clock: Clock
  readonly reviews: AccessReviews
  /** Undefined if logins with a code are not allowed, because other machines can connect. */
  readonly codes: LoginCodes | undefined
  readonly readAsset: (path: string) => PageAsset | undefined
  /** The bound address. */
  readonly address: () => ServingAddress
  readonly signal: AbortSignal
}

const maxStreams = 200
const maxStreamsPerSession = 12
const maxViewers = 200

interface ApiExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Without the path prefix and the leading slash. */
  readonly path: string
  readonly query: URLSearchParams
}

interface LoggedIn {
  readonly id: string
  readonly session: UserSession
  readonly viewer: Viewer
}

export class DashboardServer {
  readonly #options: DashboardServerOptions
  readonly #sessions: DashboardSessions
  readonly #attempts = new RateLimit(loginLimit)
  readonly #streams: EventStreams
  readonly #views = new RateLimit(viewLimit)
  readonly #developer = new Developer()
  readonly #viewers = new LruMap<string, ReviewedViewer>(maxViewers)

  constructor(options: DashboardServerOptions) {
    const { clock, source, signal } = options
    this.#options = options
    this.#sessions = new DashboardSessions(clock)
    this.#streams = new EventStreams(() => source.statistics.revision, signal)
  }

  /** Answers a request. Problems are answered with their status and a sentence. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value)
    try {
      await this.#route(request, response)
    } catch (error) {
      const problem = toProblem(error)
      if (response.headersSent) return void response.destroy()
      respond(request, response, {
        status: problem.status,
        body: toJsonText({ message: problem.message, code: problem.code }),
      })
    }
  }

  close(): void {
    this.#streams.close()
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = this.#pathIn(request)
    const query = new URLSearchParams((request.url ?? '').split('?').slice(1).join('?'))
    const exchange: ApiExchange = { request, response, path, query }
    if (path.startsWith('api/')) return this.#serveApi(exchange)
    return this.#servePage(exchange)
  }

  /** The path below the one in the address; other paths do not exist. */
  #pathIn(request: IncomingMessage): string {
    const prefix = this.#options.address().path.replace(/\/$/, '')
    const path = pathOf(request)
    if (!path.startsWith(`${prefix}/`)) throw invalidRequest(404, `the dashboard is at ${prefix}/`)
    return path.slice(prefix.length + 1)
  }

  async #serveApi(exchange: ApiExchange): Promise<void> {
    const { request, path } = exchange
    checkOrigin(request)
    if (path === 'api/login') return this.#requirePost(exchange, () => this.#login(exchange))
    if (path === 'api/logout') return this.#requirePost(exchange, () => this.#logout(exchange))
    if (path === 'api/actions') return this.#requirePost(exchange, () => this.#act(exchange))
    if (request.method !== 'GET') throw invalidRequest(405, `${path} has only the method GET`)
    const loggedIn = await this.#loggedIn(request)
    if (path === 'api/session') return this.#sendJson(exchange, toSessionInfo(loggedIn.session))
    if (path === 'api/stream') {
      await this.#waitForTurn(loggedIn.viewer)
      if (!exchange.response.destroyed) this.#openStream(exchange, loggedIn)
      return
    }
    const name = path.startsWith('api/views/') ? path.slice('api/views/'.length) : ''
    if (!isViewName(name)) throw invalidRequest(404, `there is no ${path.slice(0, 100)}`)
    const query = readQuery(exchange.query)
    await this.#waitForTurn(loggedIn.viewer)
    if (exchange.response.destroyed) return
    this.#sendJson(exchange, await views[name](this.#options.source, { query, viewer: loggedIn.viewer }))
  }

  /** Waits if the user has asked for many views, so that users cannot occupy the event loop. */
  async #waitForTurn(viewer: Viewer): Promise<void> {
    const delayMs = this.#views.take(viewer.key, monotonicMs())
    if (delayMs === undefined) {
      throw new DashboardProblem(
        429,
        'KOPF_DASHBOARD_REQUEST',
        'Cannot show the view: you have asked for too many; wait some seconds',
      )
    }
    if (delayMs > 0) await systemClock.sleep(delayMs, this.#options.signal, { isBackground: true }).catch(() => {})
  }

  async #requirePost({ request, path }: ApiExchange, serve: () => Promise<void>): Promise<void> {
    if (request.method !== 'POST') throw invalidRequest(405, `${path} has only the method POST`)
    await serve()
  }

  #sendJson({ request, response }: ApiExchange, value: object, headers?: Readonly<Record<string, string>>): void {
    respond(request, response, { status: 200, body: toJsonText(value), ...(headers && { headers }) })
  }

  get #isSecure(): boolean {
    return this.#options.address().scheme === 'https'
  }

  /** Programs on one machine share the cookies of a host: the port keeps two dashboards apart. */
  get #cookieName(): string {
    return `${cookieName(this.#isSecure)}-${this.#options.address().port}`
  }

  async #login(exchange: ApiExchange): Promise<void> {
    const { request } = exchange
    const body = await readJson(request)
    if (this.#attempts.take(request.socket.remoteAddress ?? '', this.#options.clock.now()) === undefined) {
      throw loginRefused(429, 'there were too many attempts from this address; wait a few seconds')
    }
    const owner = await this.#authenticate(request, { token: getString(body, 'token'), code: getString(body, 'code') })
    const { id, session } = this.#sessions.create(owner)
    const cookie = toCookie(id, { name: this.#cookieName, isSecure: this.#isSecure })
    this.#sendJson(exchange, toSessionInfo(session), { 'set-cookie': cookie })
  }

  async #authenticate(
    request: IncomingMessage,
    { token, code }: { readonly token: string | undefined; readonly code: string | undefined },
  ): Promise<SessionOwner> {
    if (code !== undefined) {
      const { codes } = this.#options
      if (codes === undefined || !isLoopbackAddress(request.socket.remoteAddress ?? '')) {
        throw loginRefused(401, 'a code works only on the machine of the operator; use a token')
      }
      if (!codes.use(code))
        throw loginRefused(
          401,
          'the code was used before, has expired or is wrong; open the dashboard again from the terminal of the operator',
        )
      return { user: this.#developer.name, token: undefined }
    }
    if (token === undefined) throw invalidRequest(400, 'it has neither a "token" nor a "code"')
    const user = await this.#options.reviews.authenticate(token)
    if (user === undefined)
      throw loginRefused(401, 'the API server does not accept the token; create one with `kubectl create token`')
    return { user: user.name, token }
  }

  async #logout(exchange: ApiExchange): Promise<void> {
    const { request, response } = exchange
    const { id, session } = await this.#loggedIn(request)
    checkCsrf(request, session)
    this.#sessions.end(id)
    const cookie = toCookie('', { name: this.#cookieName, isSecure: this.#isSecure, isEnded: true })
    response.writeHead(204, { 'set-cookie': cookie, 'cache-control': 'no-store' }).end()
  }

  async #act(exchange: ApiExchange): Promise<void> {
    const { request } = exchange
    const { session, viewer } = await this.#loggedIn(request)
    checkCsrf(request, session)
    this.#sendJson(exchange, await act(this.#options.source, await readJson(request), viewer))
  }

  /** The session of the request. Its token is checked again; the answer of the API server counts for a minute. */
  async #loggedIn(request: IncomingMessage): Promise<LoggedIn> {
    const id = readCookie(request, this.#cookieName)
    const session = id === undefined ? undefined : this.#sessions.use(id)
    if (id === undefined || session === undefined) throw notLoggedIn()
    return { id, session, viewer: await this.#viewerOf(id, session) }
  }

  async #viewerOf(id: string, { token }: UserSession): Promise<Viewer> {
    if (token === undefined) return this.#developer
    const { reviews, clock } = this.#options
    const user = await reviews.authenticate(token)
    if (user === undefined) {
      this.#sessions.end(id)
      throw notLoggedIn()
    }
    const viewer = new ReviewedViewer(user, { reviews, clock })
    const known = this.#viewers.get(viewer.key)
    if (known !== undefined) return known
    this.#viewers.set(viewer.key, viewer)
    return viewer
  }

  #openStream({ request, response, query }: ApiExchange, { id, session, viewer }: LoggedIn): void {
    const name = query.get('view') ?? ''
    if (!isViewName(name)) throw invalidRequest(404, `there is no view "${name.slice(0, 40)}"`)
    if (this.#streams.count >= maxStreams || session.streams >= maxStreamsPerSession) {
      throw new DashboardProblem(
        429,
        'KOPF_DASHBOARD_REQUEST',
        'Cannot open another stream: too many are open; close some pages of the dashboard',
      )
    }
    const asked = readQuery(query)
    const compute = async (): Promise<object> => views[name](this.#options.source, { query: asked, viewer })
    session.streams += 1
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    this.#streams.open(
      {
        view: { key: JSON.stringify([name, queryKey(asked), viewer.key]), compute },
        response,
        lastId: [request.headers['last-event-id'] ?? []].flat()[0],
        check: () => this.#isLoggedIn(id),
      },
      () => {
        session.streams -= 1
      },
    )
  }

  async #isLoggedIn(id: string): Promise<boolean> {
    const session = this.#sessions.use(id)
    if (session === undefined) return false
    await this.#viewerOf(id, session)
    return true
  }

  #servePage({ request, response, path }: ApiExchange): void {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw invalidRequest(405, 'files have only the method GET')
    const asset = this.#options.readAsset(path)
    if (asset === undefined) throw invalidRequest(404, `there is no file ${path.slice(0, 100)}`)
    const isCompressed = /\bbr\b/.test(String(request.headers['accept-encoding'] ?? ''))
    respond(request, response, {
      status: 200,
      contentType: asset.contentType,
      body: isCompressed ? asset.body : brotliDecompressSync(asset.body),
      headers: {
        'cache-control': 'no-cache',
        vary: 'accept-encoding',
        ...(isCompressed && { 'content-encoding': asset.encoding }),
      },
    })
  }
}

function checkCsrf(request: IncomingMessage, session: UserSession): void {
  const given = [request.headers['x-kopf-csrf'] ?? []].flat()[0]
  if (!isCsrf(session, given))
    throw foreignRequest('the header x-kopf-csrf is not that of the session; reload the page')
}

function toSessionInfo({ user, csrf, expiresAtMs }: UserSession): SessionInfo {
  return { user, csrf, expiresAtMs }
}

function toProblem(error: unknown): { readonly status: number; readonly message: string; readonly code: string } {
  if (error instanceof DashboardProblem) return error
  if (error instanceof AccessReviewError) return { status: 503, message: error.message, code: error.code }
  if (error instanceof KopfError)
    return {
      status: 503,
      message: 'Cannot serve the request: the operator cannot answer it now; try again',
      code: error.code,
    }
  throw error
}
