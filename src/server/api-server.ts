/**
 * The embedded API server without a network: takes a request, returns a response. Creates the parts of the server and passes a request
 * through them: fault plan, authentication, authorization, routing, verb, request log. http.ts serves it on a port.
 */

import { type Clock, nextTurn, noLongerNeeded, systemClock } from '../util/async/clock.ts'
import { createLogger, defaultLogSink, type LogSink, type PinoLike, toLogSink } from '../util/log/log.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
import { failureAnswer, inOneChunk, isBug, withWarnings } from './answering.ts'
import { attributesOf } from './authorization/attributes.ts'
import { allowAuthenticated, demand } from './authorization/authorizer.ts'
import { createBootstrapPolicy } from './authorization/bootstrap.ts'
import { RbacAuthorizer } from './authorization/rbac.ts'
import { builtinResources } from './builtins/resources.ts'
import type { ApiResponse, ResourceCall, ServerContext } from './call.ts'
import { RoleAggregator } from './controllers/aggregation.ts'
import { CrdController } from './controllers/crds.ts'
import { EventExpirer } from './controllers/events.ts'
import { GarbageCollector } from './controllers/garbage.ts'
import { NamespaceTerminator } from './controllers/namespaces.ts'
import { type OptionalControllers, startOptional } from './controllers/optional.ts'
import { crdDefinitionResource } from './crds/crd-resource.ts'
import { dispatch } from './dispatch.ts'
import { whenDurable } from './durable-responses.ts'
import { FaultPlan, type FaultSubject } from './faults.ts'
import { AccountTokens } from './identity/account-tokens.ts'
import {
  administrator,
  authenticate,
  type ConnectionPeer,
  type Credentials,
  type User,
} from './identity/authentication.ts'
import { ImpersonationFilter } from './identity/impersonation.ts'
import { issueLongToken, type ServiceAccountName } from './identity/long-tokens.ts'
import { ConnectionFault } from './interruptible-body.ts'
import { NonResourceRoutes, notFoundPage } from './non-resource-routes.ts'
import { ResourceRegistry } from './registry.ts'
import { type ParsedRequest, parseRequest } from './request.ts'
import { RequestLog } from './request-log.ts'
import { emptySubject, subjectOf } from './request-subject.ts'
import { reviewResources } from './reviews/reviews.ts'
import { entityTooLarge, pathNotFound, StatusError } from './status.ts'
import type { Data } from './storage/data.ts'
import { toLimits } from './storage/history.ts'
import { noServerState, type ServerState } from './storage/server-state.ts'
import { ServerStore } from './storage/store.ts'
import { TurnBudget } from './turn-budget.ts'
import { createObject } from './verbs/creation.ts'
import { ownCreation, serverManager } from './verbs/owning.ts'
import { isTaken } from './verbs/write.ts'
import { Watches } from './watches.ts'
import { WebhookCaller } from './webhooks/call.ts'
import { Hooks } from './webhooks/hooks.ts'
import { createServiceResolver } from './webhooks/services.ts'

/** In-process requests are served in microtasks: after so many, other work of the process gets its turn. */
const maxRequestsPerTurn = 100

/** Options of an API server in this process. All are optional. */
export interface ApiServerOptions extends OptionalControllers {
  /** Bearer tokens and the users they authenticate. Default: none. Client certificates and service account tokens work without them. */
  readonly tokens?: Readonly<Record<string, User>>
  /**
   * Treats requests without credentials as those of an administrator. Default: false; such requests are anonymous and may only read
   * health and version.
   */
  readonly open?: boolean
  /** `rbac`: checks roles and bindings, as kube-apiserver does. `always-allow`, the default: every authenticated user may do everything. */
  readonly authorization?: 'rbac' | 'always-allow'
  /** The clock of timestamps, timeouts and controllers. Default: the system clock. */
  readonly clock?: Clock
  /** Receives bugs of the server, with stack traces. Default: the sink of `configureLogging`, else standard error. */
  readonly logging?: LogSink | PinoLike
  /**
   * How many changes (default 10,000) and characters of superseded objects (default 64 Mi) each collection keeps for watches to resume
   * from. Requests for older versions fail with 410.
   */
  readonly history?: { readonly changes?: number; readonly characters?: number }
  /**
   * How many changes (default 10,000) and characters (default 16 Mi) may be pending for a watch whose client does not read, before the
   * connection is closed.
   */
  readonly watchers?: { readonly pendingChanges?: number; readonly pendingCharacters?: number }
}

/** Maximum size of a request body: 3 MiB, as in kube-apiserver. */
export const maxBodyBytes: number = 3 * 1024 * 1024

/**
 * A Kubernetes API server in this process, without a socket. Requests are passed to `send`; `startServer` serves it on a port.
 *
 * @example
 * ```ts
 * import { ApiServer } from 'kopf/server'
 *
 * const api = new ApiServer()
 * await kopf.start({ transport: api })
 * ```
 */
export class ApiServer implements Transport {
  /** The faults to inject into requests. Empty by default. */
  readonly faults: FaultPlan
  /** The requests served so far. */
  readonly requests: RequestLog = new RequestLog()
  readonly #parts: ServerContext
  readonly #routes: NonResourceRoutes
  readonly #credentials: Credentials
  readonly #impersonation: ImpersonationFilter
  readonly #closing = new AbortController()
  readonly #turns = new TurnBudget(maxRequestsPerTurn)
  readonly #data: Data | undefined

  /** Resolves when the optional controllers are loaded; requests wait for it. Undefined if there are none. */
  readonly #starting: Promise<void> | undefined

  /** With `data`, starts from the stored objects and writes all changes there: see `open`. */
  constructor(options: ApiServerOptions = {}, data?: Data) {
    const clock = options.clock ?? systemClock
    const store = data?.store ?? new ServerStore(toLimits(options.history))
    this.#data = data
    const watches = new Watches(store, clock, {
      pendingChanges: options.watchers?.pendingChanges ?? 10_000,
      pendingCharacters: options.watchers?.pendingCharacters ?? 16 * 1024 * 1024,
      bookmarkIntervalMs: 60_000,
    })
    const isRbac = options.authorization === 'rbac'
    const authorizer = isRbac ? new RbacAuthorizer(store) : allowAuthenticated
    const serverState = data?.serverState ?? noServerState
    const tokens = new AccountTokens(store, clock, serverState)
    this.#credentials = {
      tokens: new Map(Object.entries(options.tokens ?? {})),
      accounts: tokens,
      isOpen: options.open ?? false,
    }
    this.#impersonation = new ImpersonationFilter(authorizer)
    const reviews = reviewResources({ credentials: this.#credentials, authorizer, clock })
    const now = () => new Date(clock.now())
    const registry = new ResourceRegistry([...builtinResources(now), crdDefinitionResource, ...reviews])
    const webhooks = new WebhookCaller(createServiceResolver(store))
    const log = createLogger(toLogSink(options.logging ?? defaultLogSink()), 'kopf.server')
    const others = { serverState, closing: this.#closing.signal, log }
    this.#parts = { store, registry, watches, clock, webhooks, hooks: new Hooks(store), authorizer, tokens, ...others }
    this.#routes = new NonResourceRoutes(registry, tokens)
    this.faults = new FaultPlan(clock, () => store.version)
    new GarbageCollector(this.#parts)
    new NamespaceTerminator(this.#parts)
    new CrdController(this.#parts)
    new EventExpirer(this.#parts)
    new RoleAggregator(this.#parts)
    // CRDs first: other controllers need to know the served resources.
    if (data !== undefined) store.replayAsAdded(crdDefinitionResource.collection)
    this.#createNamespaces()
    if (isRbac) createBootstrapPolicy(this.#parts)
    store.reportFailuresTo((error) =>
      log.error('A controller of the embedded API server failed on a change', { error }),
    )
    this.#starting = startOptional(this.#parts, options)
  }

  /** Creates a server that stores its objects in a directory, and starts from the objects that it finds there. */
  static async open({ dataDir, ...options }: ApiServerOptions & { readonly dataDir: string }): Promise<ApiServer> {
    const { openDataDir } = await import('./open-data-dir.ts')
    const data = await openDataDir(dataDir, options)
    try {
      return new ApiServer(options, data)
    } catch (error) {
      await data.close()
      throw error
    }
  }

  /** The resource version of the last write. */
  get version(): string {
    return String(this.#parts.store.version)
  }

  /** Drops the history: a list or watch from an earlier version fails with 410. */
  compact(): void {
    this.#parts.store.compact()
  }

  /** Ends all watches and the connections to webhooks. Resolves when all changes are on disk. */
  close(): Promise<void> {
    this.#parts.watches.endAll()
    this.#closing.abort(noLongerNeeded)
    this.#parts.webhooks.close()
    return this.#data?.close() ?? Promise.resolve()
  }

  /**
   * Keys, certificates and tokens that survive a restart on the same data directory.
   *
   * @internal
   */
  get serverState(): ServerState {
    return this.#parts.serverState
  }

  /** The number of open watches. */
  get openWatches(): number {
    return this.#parts.watches.size
  }

  /** The number of webhook calls in progress. */
  get webhookCalls(): number {
    return this.#parts.webhooks.pending
  }

  /** True if requests without credentials act as an administrator. */
  get isOpen(): boolean {
    return this.#credentials.isOpen
  }

  /** Makes this bearer token authenticate the user from now on. */
  addToken(token: string, user: User): void {
    this.#credentials.tokens.set(token, user)
  }

  /**
   * Issues a token for an existing service account. It practically never expires by the server's clock, so that tests can skip years.
   * Clients use `serviceaccounts/<name>/token` instead.
   */
  issueToken(account: ServiceAccountName): string {
    return issueLongToken(this.#parts, account)
  }

  /** Serves a request in process. The `authorization` header decides the user; without it, the request is an administrator's. */
  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    if (this.#turns.isSpent()) await nextTurn()
    signal?.throwIfAborted()
    const headers = request.headers ?? {}
    const peer = headers['authorization'] === undefined ? localPeer : {}
    const { status, headers: answered, body } = await this.answer(request, peer, signal ?? never)
    return { status, headers: answered, body: typeof body === 'string' ? inOneChunk(body) : body }
  }

  /**
   * Rejects only with a ConnectionFault of the fault plan, or if the client is gone: there is no response then.
   *
   * @internal
   */
  async answer(request: TransportRequest, peer: ConnectionPeer, signal: AbortSignal): Promise<ApiResponse> {
    const context: RequestContext = {
      request,
      signal,
      subject: emptySubject,
      warnings: [],
      time: this.#parts.clock.now(),
    }
    let status = 0
    try {
      const answer = await this.#receive(context, peer)
      status = answer.status
      return withWarnings(answer, context.warnings)
    } finally {
      this.#record(context, status)
    }
  }

  async #receive(context: RequestContext, peer: ConnectionPeer): Promise<ApiResponse> {
    const { request, signal } = context
    if (this.#starting !== undefined) await this.#starting
    try {
      const parsed = parseRequest(request)
      context.subject = subjectOf(parsed, '')
      const user = this.#identify(request, parsed, peer)
      context.subject = subjectOf(parsed, user.username)
      return await this.#serve(context, parsed, user)
    } catch (error) {
      if (error instanceof ConnectionFault || (signal.aborted && !(error instanceof StatusError))) throw error
      if (isBug(error)) this.reportBug(request, error)
      return failureAnswer(error)
    }
  }

  /**
   * Logs the stack of a request that failed because of a bug; the client gets the message only. The query is left out, since it may
   * contain values of fields.
   *
   * @internal
   */
  reportBug({ method, path }: TransportRequest, error: unknown): void {
    const { pathname } = new URL(path, 'http://localhost')
    this.#parts.log.error(`The embedded API server failed on ${method} ${pathname}`, { error })
  }

  #identify({ headers = {} }: TransportRequest, parsed: ParsedRequest, peer: ConnectionPeer): User {
    const asker = authenticate(this.#credentials, headers['authorization'], peer)
    return this.#impersonation.apply(asker, headers, () => attributesOf(parsed))
  }

  async #serve(context: RequestContext, parsed: ParsedRequest, user: User): Promise<ApiResponse> {
    const { subject, signal } = context
    const strike = this.faults.strike(subject)
    await strike?.before(signal)
    const isOfObjects = this.#data !== undefined && parsed.resource !== undefined
    const serve = () => this.#route(context, { parsed, user, readAt: strike?.readAt })
    const answer = await (isOfObjects ? whenDurable(this.#parts.store, parsed.method === 'GET', serve) : serve())
    return this.faults.release(answer, subject, { strike, signal })
  }

  async #route(context: RequestContext, { parsed, user, readAt }: Route): Promise<ApiResponse> {
    const { request, warnings, signal } = context
    const headers = request.headers ?? {}
    const { authorizer } = this.#parts
    if (!authorizer.isExempt(user)) demand(authorizer, user, attributesOf(parsed))
    const path = parsed.resource
    if (path === undefined) return this.#routes.answer(parsed, headers)
    const resource = this.#parts.registry.find(path.group, path.version, path.plural)
    if (resource === undefined) return notServed(this.#parts.registry, path.group)
    if (resource.warning !== undefined) warnings.push(resource.warning)
    const sent = request.body ?? ''
    const body = textOf(sent)
    const { query } = parsed
    // Fields are listed one by one, because spreading into large objects is slow and this runs for every request.
    const { store, registry, watches, clock, webhooks, hooks, tokens, serverState, closing, log } = this.#parts
    const call: ResourceCall = {
      store,
      registry,
      watches,
      clock,
      webhooks,
      hooks,
      authorizer,
      tokens,
      serverState,
      closing,
      log,
      resource,
      path,
      query,
      headers,
      body,
      sent,
      user,
      warnings,
      signal,
      readAt,
    }
    return dispatch(call, parsed.method)
  }

  #record({ request, subject, time }: RequestContext, status: number): void {
    const { method, path, headers } = request
    const verb = subject.resource === '' || subject.verb === '' ? 'other' : subject.verb
    const { resource, subresource, namespace, name, user } = subject
    const userAgent = headers?.['user-agent'] ?? ''
    this.requests.add({ verb, method, path, resource, subresource, namespace, name, status, user, userAgent, time })
  }

  #createNamespaces(): void {
    const resource = this.#parts.registry.find('', 'v1', 'namespaces')!
    for (const name of ['default', 'kube-node-lease', 'kube-public', 'kube-system']) {
      if (isTaken(this.#parts, resource, { name })) continue
      const { object } = resource.strategy.decode({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      ownCreation(this.#parts, resource, object, serverManager)
      createObject(this.#parts, resource, object, false)
    }
  }
}

/** One request and its state while it is served. */
interface RequestContext {
  readonly request: TransportRequest
  readonly signal: AbortSignal
  /** Empty until the request is parsed and the user is authenticated. */
  subject: FaultSubject
  readonly warnings: string[]
  readonly time: number
}

interface Route {
  readonly parsed: ParsedRequest
  readonly user: User
  readonly readAt: number | undefined
}

const never = new AbortController().signal
const localPeer: ConnectionPeer = {
  certificate: { commonName: administrator.username, organizations: ['system:masters'] },
}
/** An unknown resource in a built-in group gets a Status; in any other group the plain text 404 page. */
function notServed(registry: ResourceRegistry, group: string): ApiResponse {
  if (registry.isBuiltinGroup(group)) throw pathNotFound()
  return notFoundPage
}

function textOf(body: string | Uint8Array): string {
  const size = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  if (size > maxBodyBytes) throw entityTooLarge(`limit is ${maxBodyBytes}`)
  return typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8')
}
