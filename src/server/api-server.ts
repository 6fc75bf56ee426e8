/**
 * The embedded API server without a network: a request in, an answer out. Puts the parts together and walks a request
 * through them: fault plan, who asks, what is asked for, the verb, the record. http.ts puts it behind a port.
 */
import { type Clock, noLongerNeeded, systemClock } from '../util/clock.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
import {
  administrator,
  authenticate,
  authorize,
  authorizePath,
  type Credentials,
  isAllowed,
  type Peer,
  type User,
} from './authentication.ts'
import { builtinResources } from './builtins/resources.ts'
import { type Answer, type Call, jsonAnswer, type Parts } from './call.ts'
import { CrdKeeper } from './controllers/crds.ts'
import { EventExpirer } from './controllers/events.ts'
import { GarbageCollector } from './controllers/garbage.ts'
import { NamespaceTerminator } from './controllers/namespaces.ts'
import { crdDefinitionResource } from './crds/crd-resource.ts'
import { dispatch } from './dispatch.ts'
import { FaultPlan, type FaultSubject } from './faults.ts'
import { notFoundPage, Pages } from './pages.ts'
import { ConnectionFault } from './reachable-body.ts'
import { Registry } from './registry.ts'
import { type ParsedRequest, parseRequest, verbOf } from './request.ts'
import { RequestLog } from './request-log.ts'
import { reviewResources } from './reviews.ts'
import { badRequest, entityTooLarge, internalError, pathNotFound, StatusError } from './status.ts'
import { Store } from './storage/store.ts'
import { createObject } from './verbs/creation.ts'
import { ownCreation, serverManager } from './verbs/owning.ts'
import { warningHeaders } from './warnings.ts'
import { Watches } from './watches.ts'
import { WebhookCaller } from './webhooks/call.ts'
import { Hooks } from './webhooks/hooks.ts'
import { createServiceResolver } from './webhooks/services.ts'

export interface ApiServerOptions {
  /** Bearer tokens and whom they stand for. Without any, and without `open`, nobody but certificates gets in. */
  readonly tokens?: Readonly<Record<string, User>>
  /** Whoever comes without credentials is an administrator. */
  readonly open?: boolean
  readonly clock?: Clock
  /** How much of the past watches can go on from; what is older is answered with 410. */
  readonly history?: { readonly changes?: number; readonly characters?: number }
  /** How much may wait for a watcher that does not read, before it is cut off. */
  readonly watchers?: { readonly pendingChanges?: number; readonly pendingCharacters?: number }
}

/** As the real server's: 3 MB. */
export const maxBodyBytes: number = 3 * 1024 * 1024

export class ApiServer implements Transport {
  readonly faults: FaultPlan
  readonly requests: RequestLog = new RequestLog()
  readonly #parts: Parts
  readonly #pages: Pages
  readonly #credentials: Credentials
  readonly #closing = new AbortController()

  constructor(options: ApiServerOptions = {}) {
    const clock = options.clock ?? systemClock
    const store = new Store({
      changes: options.history?.changes ?? 10_000,
      characters: options.history?.characters ?? 64 * 1024 * 1024,
    })
    const watches = new Watches(store, clock, {
      pendingChanges: options.watchers?.pendingChanges ?? 10_000,
      pendingCharacters: options.watchers?.pendingCharacters ?? 16 * 1024 * 1024,
      bookmarkIntervalMs: 60_000,
    })
    this.#credentials = { tokens: new Map(Object.entries(options.tokens ?? {})), isOpen: options.open ?? false }
    const registry = new Registry([...builtinResources(), crdDefinitionResource, ...reviewResources(this.#credentials)])
    const webhooks = new WebhookCaller(createServiceResolver(store))
    this.#parts = { store, registry, watches, clock, webhooks, hooks: new Hooks(store), closing: this.#closing.signal }
    this.#pages = new Pages(registry)
    this.faults = new FaultPlan(clock, () => store.version)
    new GarbageCollector(this.#parts)
    new NamespaceTerminator(this.#parts)
    new CrdKeeper(this.#parts)
    new EventExpirer(this.#parts)
    this.#createNamespaces()
  }

  /** The version of the last write. */
  get version(): string {
    return String(this.#parts.store.version)
  }

  /** Forgets the past: whoever wants to go on from an earlier version is answered with 410. */
  compact(): void {
    this.#parts.store.compact()
  }

  /** Ends all watches, in good order, and the connections to webhooks. */
  close(): void {
    this.#parts.watches.endAll()
    this.#closing.abort(noLongerNeeded)
    this.#parts.webhooks.close()
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

  /** In process, with no socket between: the caller is whoever its token says, or an administrator. */
  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    signal?.throwIfAborted()
    const headers = request.headers ?? {}
    const peer = headers['authorization'] === undefined ? localPeer : {}
    const { status, headers: answered, body } = await this.answer(request, peer, signal ?? never)
    return { status, headers: answered, body: typeof body === 'string' ? once(body) : body }
  }

  /** Rejects only with a ConnectionFault of the plan, or where the client went away: then there is no answer. */
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
    try {
      const parsed = parseRequest(request)
      visit.subject = subjectOf(parsed, '')
      const user = authenticate(this.#credentials, request.headers?.['authorization'], peer)
      visit.subject = subjectOf(parsed, user.username)
      return await this.#serve(visit, parsed, user)
    } catch (error) {
      if (error instanceof StatusError) return statusAnswer(error)
      if (error instanceof ConnectionFault || signal.aborted) throw error
      return statusAnswer(isTooDeep(error) ? badRequest('exceeded max depth') : internalError(error))
    }
  }

  async #serve(visit: Visit, parsed: ParsedRequest, user: User): Promise<Answer> {
    const { subject, signal } = visit
    const strike = this.faults.strike(subject)
    await strike?.before(signal)
    const answer = await this.#route(visit, { parsed, user, readAt: strike?.readAt })
    return this.faults.release(answer, subject, { strike, signal })
  }

  async #route(visit: Visit, { parsed, user, readAt }: Route): Promise<Answer> {
    const { request, subject, warnings, signal } = visit
    const headers = request.headers ?? {}
    if (parsed.resource === undefined) {
      authorizePath(user, parsed.method, parsed.path)
      return this.#pages.answer(parsed, headers)
    }
    const path = parsed.resource
    const resource = this.#parts.registry.find(path.group, path.version, path.plural)
    if (!isAllowed(user)) authorize(user, { ...path, verb: subject.verb }, resource)
    if (resource === undefined) return notServed(this.#parts.registry, path.group)
    if (resource.warning !== undefined) warnings.push(resource.warning)
    const sent = request.body ?? ''
    const body = textOf(sent)
    const { query } = parsed
    // Spelled out, here and below: spreading into larger objects is slow, and this is done for every request.
    const { store, registry, watches, clock, webhooks, hooks, closing } = this.#parts
    const call: Call = {
      store,
      registry,
      watches,
      clock,
      webhooks,
      hooks,
      closing,
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
const nothing: FaultSubject = {
  verb: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  user: '',
  path: '',
}

function subjectOf(parsed: ParsedRequest, user: string): FaultSubject {
  const { method, path, resource } = parsed
  // What is not a resource is got by its path, never listed or watched.
  if (resource === undefined) {
    return { ...nothing, path, user, verb: method === 'GET' || method === 'HEAD' ? 'get' : '' }
  }
  const { group, plural, subresource, namespace, name } = resource
  const verb = verbOf(parsed) ?? ''
  return { verb, resource: group === '' ? plural : `${plural}.${group}`, subresource, namespace, name, path, user }
}

/** Bodies are bounded in depth, but patches can pile up what is not; then nothing was stored, for lack of its text. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message === 'Maximum call stack size exceeded'
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

function statusAnswer(error: StatusError): Answer {
  const answer = jsonAnswer(error.code, error.toStatus())
  const retryAfter = error.details?.retryAfterSeconds
  if (retryAfter === undefined || retryAfter === 0) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } }
}

function withWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length === 0) return answer
  return { ...answer, headers: { ...answer.headers, warning: warningHeaders(warnings) } }
}

async function* once(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}
