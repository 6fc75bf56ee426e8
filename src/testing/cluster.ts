/**
 * A cluster for tests: what operators are started with, and the words in which a test speaks of objects. On the embedded
 * server or on a real one (site.ts); started by start-cluster.ts.
 */
import { isNotFound } from '../client/api-error.ts'
import type { Client } from '../client/client.ts'
import type {
  DeleteOptions,
  GetOptions,
  ObjectInput,
  PatchOptions,
  SelectionOptions,
  WriteOptions,
} from '../client/client-options.ts'
import type { ConnectionInfo } from '../client/credentials.ts'
import type { Meta } from '../core/handling/args.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { CustomResource, ObjectOf, OpenObject, ResourceLike } from '../kube/resources.ts'
import type { RunOptions } from '../operator.ts'
import type { ServiceAccountName } from '../server/identity/long-tokens.ts'
import { toMs } from '../util/duration.ts'
import { isDeepEqual } from '../util/equality.ts'
import { createLogSink, type LogSink } from '../util/log.ts'
import type { Transport } from '../util/transport.ts'
import type { ClusterClock } from './cluster-clock.ts'
import type { NewObject, SettledOptions, Where } from './cluster-options.ts'
import { describeLogs, describeObject, stillRunning } from './complaints.ts'
import type { ClusterFaults, ClusterRequests, Site } from './site.ts'
import { type WaitOptions, waitFor } from './waiting.ts'

/** What the start has put there. */
interface ClusterContents {
  readonly resources: readonly CustomResource<object>[]
  /** Takes it back. */
  readonly tidy: () => Promise<void>
}

/** Enough to see what went on. */
const mostLogs = 10_000

/** A cluster for tests: the embedded server in this process, or a namespace of a real one. Operators are started on it. */
export class Cluster implements RunOptions, AsyncDisposable {
  readonly clock: ClusterClock
  /** Aborted at the end: no operator outlives its cluster. */
  readonly signal: AbortSignal
  readonly transport?: Transport
  readonly connection?: ConnectionInfo
  readonly namespaces?: NonNullable<RunOptions['namespaces']>
  readonly logging: LogSink
  /** What operators have logged, debug messages too: `[default/orders] Handler 'create' succeeded.` */
  readonly logs: string[] = []
  /** Where objects are unless told: `default`, or on a real cluster a namespace of this test's own. */
  readonly namespace: string
  /** All verbs of the API, as handlers have them; what is asked for so runs into no faults. */
  readonly client: Client
  readonly #site: Site
  readonly #closing = new AbortController()
  readonly #contents: ClusterContents

  constructor(site: Site, contents: ClusterContents) {
    const { transport, connection, namespaces } = site.access
    this.#site = site
    this.#contents = contents
    this.clock = site.clock
    this.signal = this.#closing.signal
    if (transport !== undefined) this.transport = transport
    if (connection !== undefined) this.connection = connection
    if (namespaces !== undefined) this.namespaces = namespaces
    this.namespace = site.namespace
    this.client = site.client
    this.logging = createLogSink({
      format: 'plain',
      verbose: true,
      clock: site.clock,
      write: (line) => this.#log(line),
    })
  }

  /** What goes wrong on purpose, for operators only. Not on a real cluster. */
  get faults(): ClusterFaults {
    return this.#site.faults
  }

  /** What operators have asked for. Not on a real cluster. */
  get requests(): ClusterRequests {
    return this.#site.requests
  }

  /**
   * A new object. Where it has a status that the API takes only afterwards, that is put on in a second step.
   *
   * @example
   * ```ts
   * await cluster.create(Database, { name: 'orders', spec: { engine: 'postgres', size: 1 } })
   * ```
   */
  async create<const R extends ResourceLike>(resource: R, object: NewObject<ObjectOf<R>>): Promise<ObjectOf<R>> {
    const { name, namespace, labels, annotations, metadata, ...rest } = object as NewObject<OpenObject>
    const named = { name, namespace, labels, annotations }
    const present = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
    const body = { ...rest, metadata: { ...metadata, ...present } } as unknown as ObjectInput<ObjectOf<R>>
    const created = (await this.client.create(resource, body)) as OpenObject
    const { status } = rest
    if (status === undefined || isDeepEqual(created.status, status)) return created as ObjectOf<R>
    const { name: given = '', namespace: place } = created.metadata
    const options = { subresource: 'status', ...(place === undefined ? {} : { namespace: place }) }
    return await this.client.patch(resource, given, { status }, options)
  }

  /** An object by its name; an `ApiError` where there is none. */
  get<const R extends ResourceLike>(resource: R, name: string, options?: GetOptions): Promise<ObjectOf<R>> {
    return this.client.get(resource, name, options)
  }

  /** All objects of a resource, or those that the options select. */
  list<const R extends ResourceLike>(resource: R, options?: SelectionOptions): Promise<ObjectOf<R>[]> {
    return this.client.list(resource, options)
  }

  /** A merge patch, or JSON patch operations where an array is given. */
  patch<const R extends ResourceLike>(
    resource: R,
    name: string,
    patch: object,
    options?: PatchOptions,
  ): Promise<ObjectOf<R>> {
    return this.client.patch(resource, name, patch, options)
  }

  /** Puts the object in the place of the one of its name. */
  replace<const R extends ResourceLike>(
    resource: R,
    object: ObjectInput<ObjectOf<R>>,
    options?: WriteOptions,
  ): Promise<ObjectOf<R>> {
    return this.client.replace(resource, object, options)
  }

  /** Gone, or on its way: `untilGone` waits for the end. */
  async delete(resource: ResourceLike, name: string, options?: DeleteOptions): Promise<void> {
    await this.client.delete(resource, name, options)
  }

  /**
   * The object, as soon as it looks so; time passes meanwhile.
   *
   * @example
   * ```ts
   * const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
   * ```
   */
  async until<const R extends ResourceLike>(
    resource: R,
    name: string,
    predicate: (object: ObjectOf<R>) => unknown,
    options: WaitOptions & Where = {},
  ): Promise<ObjectOf<R>> {
    let last: ObjectOf<R> | undefined
    const find = this.#finder(resource, name, options)
    return await waitFor(this.#site, options, {
      look: async () => {
        last = await find()
        return last !== undefined && predicate(last) ? last : undefined
      },
      complain: () =>
        `"${name}" has not become what was waited for: ${String(predicate)}\n${describeObject(last, name)}\n${this.#lastLogs()}`,
    })
  }

  /** When there is no such object any more; time passes meanwhile. */
  async untilGone(resource: ResourceLike, name: string, options: WaitOptions & Where = {}): Promise<void> {
    let last: object | undefined
    const find = this.#finder(resource, name, options)
    await waitFor(this.#site, options, {
      look: async () => {
        last = await find()
        return last === undefined ? true : undefined
      },
      complain: () => `"${name}" is still there:\n${describeObject(last, name)}\n${this.#lastLogs()}`,
    })
  }

  /** When nothing more is written and no handler is under way, for so long; what is further off, such as timers, is not waited for. */
  async settled({ quiet = '5s', ...options }: SettledOptions = {}): Promise<void> {
    const quietMs = toMs(quiet, '`quiet`')
    const { clock } = this.#site
    let sinceMs = clock.now()
    let version: string | undefined
    await waitFor(this.#site, options, {
      look: async () => {
        const current = this.#site.version ?? (await this.#fingerprint())
        if (current !== version || clock.occupied('call') > 0) sinceMs = clock.now()
        version = current
        return clock.now() - sinceMs >= quietMs ? true : undefined
      },
      untilMs: () => sinceMs + quietMs,
      complain: () =>
        `something happens all the time, and never nothing for ${quietMs / 1000} seconds\n${this.#lastLogs()}`,
    })
  }

  /** The Kubernetes events about an object, oldest first. */
  async events(object: { readonly metadata?: Meta | undefined }): Promise<OpenObject[]> {
    const { name, namespace = 'default', uid } = object.metadata ?? {}
    const events = await this.client.list(['v1', 'events'] as const, { namespace })
    return events.filter(
      ({ involvedObject }) => involvedObject.name === name && (uid ?? involvedObject.uid) === involvedObject.uid,
    )
  }

  /**
   * What an operator is started with to be a service account, with the rights of that and no others: what it may is told by
   * roles where the cluster was started with `authorization: 'rbac'`, as on any real one. The account must be there.
   *
   * @example
   * ```ts
   * await using cluster = await startCluster({ authorization: 'rbac', objects: [account, role, binding] })
   * await using _operator = await kopf.start(await cluster.as({ serviceAccount: 'operator' }))
   * ```
   */
  async as(account: ServiceAccountName): Promise<RunOptions> {
    const { clock, signal, logging } = this
    return { clock, signal, logging, ...(await this.#site.accessFor({ namespace: this.namespace, ...account })) }
  }

  /** The same as `kubeconfig()`, for programs that are to be this service account. */
  kubeconfigFor(account: ServiceAccountName): Promise<string> {
    return this.#site.kubeconfig({ namespace: this.namespace, ...account })
  }

  /** The path of a kubeconfig for kubectl and other programs; from now on the embedded cluster also listens on a port. */
  kubeconfig(): Promise<string> {
    return this.#site.kubeconfig()
  }

  /** As at the end of `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Stops what is still running, takes back what was put into a real cluster, and complains of operators left behind. */
  async stop(): Promise<void> {
    const left = this.clock.occupied('run')
    this.#closing.abort()
    try {
      await waitFor(
        this.#site,
        { timeout: '1h' },
        {
          look: async () => (this.clock.occupied('run') === 0 ? true : undefined),
          complain: () => `operators on the cluster do not stop\n${this.#lastLogs()}`,
        },
      )
      await this.#contents.tidy()
    } finally {
      await this.#site.close()
    }
    if (left > 0) throw stillRunning(left)
  }

  /** Asks again only where something may be new: as long as the test itself asks, nothing is ever quiet. */
  #finder<R extends ResourceLike>(resource: R, name: string, where: Where): () => Promise<ObjectOf<R> | undefined> {
    let seen: string | undefined
    let found: ObjectOf<R> | undefined
    return async () => {
      const { version } = this.#site
      if (version === undefined || version !== seen) found = await this.#find(resource, name, where)
      seen = version
      return found
    }
  }

  async #find<R extends ResourceLike>(
    resource: R,
    name: string,
    { namespace }: Where,
  ): Promise<ObjectOf<R> | undefined> {
    try {
      return await this.client.get(resource, name, namespace === undefined ? {} : { namespace })
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** Of all that operators may have written into the namespace, the part that tests are about. */
  async #fingerprint(): Promise<string> {
    const watched: ResourceLike[] = [['v1', 'events'], ...this.#contents.resources]
    const lists = (await Promise.all(watched.map((resource) => this.client.list(resource)))) as KubeObject[][]
    return lists.flatMap((objects) => objects.map(({ metadata }) => metadata.resourceVersion)).join()
  }

  #log(line: string): void {
    this.logs.push(line.trimEnd())
    if (this.logs.length > mostLogs) this.logs.splice(0, this.logs.length - mostLogs)
  }

  #lastLogs(): string {
    return describeLogs(this.logs)
  }
}
