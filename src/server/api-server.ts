/**
 * The embedded API server without a network: a request in, an answer out. Puts the parts together and walks a request
 * through them: fault plan, who asks, what is asked for, the verb, the record. http.ts puts it behind a port.
 */

import { type Clock, noLongerNeeded, systemClock } from '../util/clock.ts'
import { createLogger, defaultLogSink, type LogSink, type PinoLike, toLogSink } from '../util/log.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
import { failureAnswer, inOneChunk, isBug, withWarnings } from './answering.ts'
import { attemptOf } from './authorization/attempt.ts'
import { allowKnown, demand } from './authorization/authorizer.ts'
import { createBootstrapPolicy } from './authorization/bootstrap.ts'
import { RbacAuthorizer } from './authorization/rbac.ts'
import { builtinResources } from './builtins/resources.ts'
import type { Answer, Call, Parts } from './call.ts'
import { RoleAggregator } from './controllers/aggregation.ts'
import { CrdKeeper } from './controllers/crds.ts'
import { EventExpirer } from './controllers/events.ts'
import { GarbageCollector } from './controllers/garbage.ts'
import { NamespaceTerminator } from './controllers/namespaces.ts'
import { type OptionalControllers, startOptional } from './controllers/optional.ts'
import { crdDefinitionResource } from './crds/crd-resource.ts'
import { dispatch } from './dispatch.ts'
import { FaultPlan, type FaultSubject } from './faults.ts'
import { AccountTokens } from './identity/account-tokens.ts'
import { administrator, authenticate, type Credentials, type Peer, type User } from './identity/authentication.ts'
import { Impersonation } from './identity/impersonation.ts'
import { issueLongToken, type ServiceAccountName } from './identity/long-tokens.ts'
import { whenKept } from './kept-answers.ts'
import { notFoundPage, Pages } from './pages.ts'
import { ConnectionFault } from './reachable-body.ts'
import { Registry } from './registry.ts'
import { type ParsedRequest, parseRequest } from './request.ts'
import { RequestLog } from './request-log.ts'
import { reviewResources } from './reviews/reviews.ts'
import { entityTooLarge, pathNotFound, StatusError } from './status.ts'
import type { Data } from './storage/data.ts'
import { toLimits } from './storage/history.ts'
import { type Keepsakes, noKeepsakes } from './storage/keepsakes.ts'
import { Store } from './storage/store.ts'
import { createObject } from './verbs/creation.ts'
import { ownCreation, serverManager } from './verbs/owning.ts'
import { isTaken } from './verbs/write.ts'
import { nothing, subjectOf } from './visit.ts'
import { Watches } from './watches.ts'
import { WebhookCaller } from './webhooks/call.ts'
import { Hooks } from './webhooks/hooks.ts'
import { createServiceResolver } from './webhooks/services.ts'

/** What an API server in this process is made with; all of it has defaults. */
export interface ApiServerOptions extends OptionalControllers {
  /** Bearer tokens and whom they stand for. Without any, and without `open`, nobody but certificates gets in. */
  readonly tokens?: Readonly<Record<string, User>>
  /** Whoever comes without credentials is an administrator. */
  readonly open?: boolean
  /** `rbac`: by the roles and bindings that there are, as a real server. Default: whoever has credentials may do everything. */
  readonly authorization?: 'rbac' | 'always-allow'
  readonly clock?: Clock
  /** Where bugs of the server are logged, with their stacks. Default: as `configureLogging` says, else standard error. */
  readonly logging?: LogSink | PinoLike
  /** How much of the past watches can go on from; what is older is answered with 410. */
  readonly history?: { readonly changes?: number; readonly characters?: number }
  /** How much may wait for a watcher that does not read, before it is cut off. */
  readonly watchers?: { readonly pendingChanges?: number; readonly pendingCharacters?: number }
}

/** As the real server's: 3 MB. */
export const maxBodyBytes: number = 3 * 1024 * 1024

/** A Kubernetes API server in this process, with no socket: requests are given to `send`. */
export class ApiServer implements Transport {
  /** What goes wrong on purpose. */
  readonly faults: FaultPlan
  /** What was asked of it. */
  readonly requests: RequestLog = new RequestLog()
  readonly #parts: Parts
  readonly #pages: Pages
  readonly #credentials: Credentials
  readonly #impersonation: Impersonation
  readonly #closing = new AbortController()
  readonly #data: Data | undefined

  /** Until the optional controllers are loaded, nobody is answered. Undefined where there are none. */
  readonly #starting: Promise<void> | undefined

  /** With data, it goes on from what that holds, and keeps everything there: see `open`. */
  constructor(options: ApiServerOptions = {}, data?: Data) {
    const clock = options.clock ?? systemClock
    const store = data?.store ?? new Store(toLimits(options.history))
    this.#data = data
    const watches = new Watches(store, clock, {
      pendingChanges: options.watchers?.pendingChanges ?? 10_000,
      pendingCharacters: options.watchers?.pendingCharacters ?? 16 * 1024 * 1024,
      bookmarkIntervalMs: 60_000,
    })
    const isRbac = options.authorization === 'rbac'
    const authorizer = isRbac ? new RbacAuthorizer(store) : allowKnown
    const keepsakes = data?.keepsakes ?? noKeepsakes
    const tokens = new AccountTokens(store, clock, keepsakes)
    this.#credentials = {
      tokens: new Map(Object.entries(options.tokens ?? {})),
      accounts: tokens,
      isOpen: options.open ?? false,
    }
    this.#impersonation = new Impersonation(authorizer)
    const reviews = reviewResources({ credentials: this.#credentials, authorizer, clock })
    const now = () => new Date(clock.now())
    const registry = new Registry([...builtinResources(now), crdDefinitionResource, ...reviews])
    const webhooks = new WebhookCaller(createServiceResolver(store))
    const log = createLogger(toLogSink(options.logging ?? defaultLogSink()), 'kopf.server')
    const others = { keepsakes, closing: this.#closing.signal, log }
    this.#parts = { store, registry, watches, clock, webhooks, hooks: new Hooks(store), authorizer, tokens, ...others }
    this.#pages = new Pages(registry, tokens)
    this.faults = new FaultPlan(clock, () => store.version)
    new GarbageCollector(this.#parts)
    new NamespaceTerminator(this.#parts)
    new CrdKeeper(this.#parts)
    new EventExpirer(this.#parts)
    new RoleAggregator(this.#parts)
    // The definitions first: whoever follows the others has to know what is served.
    if (data !== undefined) store.announce(crdDefinitionResource.collection)
    this.#createNamespaces()
    if (isRbac) createBootstrapPolicy(this.#parts)
    store.reportFailuresTo((error) =>
      log.error('A controller of the embedded API server failed on a change', { error }),
    )
    this.#starting = startOptional(this.#parts, options)
  }

  /** A server that keeps what it holds in a directory, and goes on from what is there. */
  static async open({ dataDir, ...options }: ApiServerOptions & { readonly dataDir: string }): Promise<ApiServer> {
    const { openKeptData } = await import('./kept-data.ts')
    const data = await openKeptData(dataDir, options)
    try {
      return new ApiServer(options, data)
    } catch (error) {
      await data.close()
      throw error
    }
  }

  /** The version of the last write. */
  get version(): string {
    return String(this.#parts.store.version)
  }

  /** Forgets the past: whoever wants to go on from an earlier version is answered with 410. */
  compact(): void {
    this.#parts.store.compact()
  }

  /** Ends all watches, in good order, and the connections to webhooks. Resolves when what was changed is kept. */
  close(): Promise<void> {
    this.#parts.watches.endAll()
    this.#closing.abort(noLongerNeeded)
    this.#parts.webhooks.close()
    return this.#data?.close() ?? Promise.resolve()
  }

  /**
   * What is known again when a server is opened on the same directory.
   *
   * @internal
   */
  get keepsakes(): Keepsakes {
    return this.#parts.keepsakes
  }

  /** How many watches are open. */
  get openWatches(): number {
    return this.#parts.watches.size
  }

  /** How many calls to webhooks are under way. */
  get webhookCalls(): number {
    return this.#parts.webhooks.pending
  }

  /** Whether whoever comes without credentials is an administrator. */
  get isOpen(): boolean {
    return this.#credentials.isOpen
  }

  /** From now on, whoever shows this bearer token is this user. */
  addToken(token: string, user: User): void {
    this.#credentials.tokens.set(token, user)
  }

  /**
   * A token of a service account that is there, good for as long as anybody tests: by the clock of the server, which may
   * skip years. Others ask for `serviceaccounts/<name>/token`.
   */
  issueToken(account: ServiceAccountName): string {
    return issueLongToken(this.#parts, account)
  }

  /** In process, with no socket between: the caller is whoever its token says, or an administrator. */
  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    signal?.throwIfAborted()
    const headers = request.headers ?? {}
    const peer = headers['authorization'] === undefined ? localPeer : {}
    const { status, headers: answered, body } = await this.answer(request, peer, signal ?? never)
    return { status, headers: answered, body: typeof body === 'string' ? inOneChunk(body) : body }
  }

  /**
   * Rejects only with a ConnectionFault of the plan, or where the client went away: then there is no answer.
   *
   * @internal
   */
  async answer(request: TransportRequest, peer: Peer, signal: AbortSignal): Promise<Answer> {
    const visit: Visit = { request, signal, subject: nothing, warnings: [], time: this.#parts.clock.now() }
    let status = 0
    try {
      const answer = await this.#receive(visit, peer)
      status = answer.status
      return withWarnings(answer, visit.warnings)
    } finally {
      this.#record(visit, status)
    }
  }

  async #receive(visit: Visit, peer: Peer): Promise<Answer> {
    const { request, signal } = visit
    if (this.#starting !== undefined) await this.#starting
    try {
      const parsed = parseRequest(request)
      visit.subject = subjectOf(parsed, '')
      const user = this.#identify(request, parsed, peer)
      visit.subject = subjectOf(parsed, user.username)
      return await this.#serve(visit, parsed, user)
    } catch (error) {
      if (error instanceof ConnectionFault || (signal.aborted && !(error instanceof StatusError))) throw error
      if (isBug(error)) this.reportBug(request, error)
      return failureAnswer(error)
    }
  }

  /**
   * A request that failed for no reason of the client's: the client gets the message, the log the stack. No query, for it may
   * hold values of fields.
   *
   * @internal
   */
  reportBug({ method, path }: TransportRequest, error: unknown): void {
    const { pathname } = new URL(path, 'http://localhost')
    this.#parts.log.error(`The embedded API server failed on ${method} ${pathname}`, { error })
  }

  #identify({ headers = {} }: TransportRequest, parsed: ParsedRequest, peer: Peer): User {
    const asker = authenticate(this.#credentials, headers['authorization'], peer)
    return this.#impersonation.apply(asker, headers, () => attemptOf(parsed))
  }

  async #serve(visit: Visit, parsed: ParsedRequest, user: User): Promise<Answer> {
    const { subject, signal } = visit
    const strike = this.faults.strike(subject)
    await strike?.before(signal)
    const isOfObjects = this.#data !== undefined && parsed.resource !== undefined
    const serve = () => this.#route(visit, { parsed, user, readAt: strike?.readAt })
    const answer = await (isOfObjects ? whenKept(this.#parts.store, parsed.method === 'GET', serve) : serve())
    return this.faults.release(answer, subject, { strike, signal })
  }

  async #route(visit: Visit, { parsed, user, readAt }: Route): Promise<Answer> {
    const { request, warnings, signal } = visit
    const headers = request.headers ?? {}
    const { authorizer } = this.#parts
    if (!authorizer.isExempt(user)) demand(authorizer, user, attemptOf(parsed))
    const path = parsed.resource
    if (path === undefined) return this.#pages.answer(parsed, headers)
    const resource = this.#parts.registry.find(path.group, path.version, path.plural)
    if (resource === undefined) return notServed(this.#parts.registry, path.group)
    if (resource.warning !== undefined) warnings.push(resource.warning)
    const sent = request.body ?? ''
    const body = textOf(sent)
    const { query } = parsed
    // Spelled out, here and below: spreading into larger objects is slow, and this is done for every request.
    const { store, registry, watches, clock, webhooks, hooks, tokens, keepsakes, closing, log } = this.#parts
    const call: Call = {
      store,
      registry,
      watches,
      clock,
      webhooks,
      hooks,
      authorizer,
      tokens,
      keepsakes,
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

  #record({ request, subject, time }: Visit, status: number): void {
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

/** One request, and what becomes known of it on its way. */
interface Visit {
  readonly request: TransportRequest
  readonly signal: AbortSignal
  /** Empty until the request has been read and whoever asks is known. */
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
const localPeer: Peer = {
  certificate: { commonName: administrator.username, organizations: ['system:masters'] },
}
/** What a built-in group does not have is a path that leads nowhere; in other groups it is no path at all. */
function notServed(registry: Registry, group: string): Answer {
  if (registry.isBuiltinGroup(group)) throw pathNotFound()
  return notFoundPage
}

function textOf(body: string | Uint8Array): string {
  const size = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  if (size > maxBodyBytes) throw entityTooLarge(`limit is ${maxBodyBytes}`)
  return typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8')
}
