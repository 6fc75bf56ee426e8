/**
 * A cluster for tests: what operators are started with, and the words in which a test speaks of objects. On the embedded
 * server or on a real one (backend.ts); started by start-cluster.ts.
 */

import type { ConnectionInfo } from '../../client/auth/connection-info.ts'
import type { Client } from '../../client/client.ts'
import type {
  DeleteOptions,
  GetOptions,
  ObjectInput,
  PatchOptions,
  SelectionOptions,
  StoredOf,
  WriteOptions,
} from '../../client/client-options.ts'
import { KopfError } from '../../errors.ts'
import type { Meta } from '../../handlers/args/args.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { ObjectOf, OpenObject, ResourceLike } from '../../kube/resources/resources.ts'
import type { RunOptions } from '../../operator.ts'
import type { ApiServer } from '../../server/api-server.ts'
import type { ServiceAccountName } from '../../server/identity/long-tokens.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { createLogSink, type LogSink } from '../../util/log/log.ts'
import { toMs } from '../../util/text/duration.ts'
import type { Transport } from '../../util/transport.ts'
import { ClusterWaits } from '../waiting/cluster-waits.ts'
import type { Expectation } from '../waiting/expectations.ts'
import { describeLogs, stillRunning } from '../waiting/failure-messages.ts'
import { timedOut, type WaitOptions, waitFor } from '../waiting/wait-for.ts'
import type { ClusterBackend, ClusterFaults, ClusterRequests } from './backend.ts'
import type { ClusterClock } from './cluster-clock.ts'
import type { ClusterContents } from './cluster-contents.ts'
import type { ListSelection, NewObject, SettledOptions, UntilOptions } from './cluster-options.ts'
import { type Manifest, readManifests } from './manifests.ts'

/** What the start has put there. */
interface ClusterStart {
  readonly contents: ClusterContents
  /** The version after that. */
  readonly startVersion: string
  /** Takes it back. */
  readonly tidy: () => Promise<void>
}

/** Enough to see what went on. */
const maxLogs = 10_000

/** What is never quiet for so long, by the clock of the cluster, will not be: told before the test runner gives the test up. */
const maxBusyMs = 300_000

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
  readonly #site: ClusterBackend
  readonly #closing = new AbortController()
  readonly #start: ClusterStart
  readonly #waits: ClusterWaits

  constructor(backend: ClusterBackend, start: ClusterStart) {
    const { transport, connection, namespaces } = backend.access
    this.#site = backend
    this.#start = start
    this.#waits = new ClusterWaits(backend, { startVersion: start.startVersion, describeLogs: () => this.#lastLogs() })
    this.clock = backend.clock
    backend.clock.onAdvanced = () => this.#sync()
    backend.clock.onStuck = (waitedMs) => this.#giveUp(waitedMs)
    this.signal = this.#closing.signal
    if (transport !== undefined) this.transport = transport
    if (connection !== undefined) this.connection = connection
    if (namespaces !== undefined) this.namespaces = namespaces
    this.namespace = backend.namespace
    this.client = backend.client
    this.logging = createLogSink({
      format: 'plain',
      verbose: true,
      clock: backend.clock,
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

  /** The embedded API server, for features that the cluster does not have itself, such as `compact()`. Not on a real cluster. */
  get server(): ApiServer {
    return this.#site.server
  }

  /**
   * A transport to the cluster with the identity of operators. A test that wraps it can record, delay, change or refuse the requests of
   * one operator, on a real cluster too.
   *
   * @example
   * ```ts
   * const inner = cluster.openTransport()
   * const paths: string[] = []
   * const transport: Transport = {
   *   send(request, signal) {
   *     paths.push(request.path)
   *     return inner.send(request, signal)
   *   },
   * }
   * await using _operator = await kopf.start({ ...cluster, transport })
   * ```
   */
  openTransport(): Transport {
    return this.#site.openTransport()
  }

  /**
   * A new object. Where it has a status that the API takes only afterwards, that is put on in a second step.
   *
   * @example
   * ```ts
   * await cluster.create(Database, { name: 'orders', spec: { engine: 'postgres', size: 1 } })
   * ```
   */
  async create<const R extends ResourceLike>(resource: R, object: NewObject<ObjectOf<R>>): Promise<StoredOf<R>> {
    const { name, namespace, labels, annotations, metadata, ...rest } = object as NewObject<OpenObject>
    const named = { name, namespace, labels, annotations }
    const present = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
    const body = { ...rest, metadata: { ...metadata, ...present } } as unknown as ObjectInput<ObjectOf<R>>
    const created = await this.client.create(resource, body)
    const { status } = rest
    const { status: stored, metadata: meta } = created as unknown as OpenObject
    if (status === undefined || isDeepEqual(stored, status)) return created
    const { name: given = '', namespace: place } = meta
    const options = { subresource: 'status', ...(place === undefined ? {} : { namespace: place }) }
    return await this.client.patch(resource, given, { status }, options)
  }

  /**
   * Creates the objects of manifests, as those of `startCluster`: YAML files, folders, objects. An object that is there already is made
   * to have these fields (server-side apply). Returns the objects as they are stored.
   *
   * @example
   * ```ts
   * const [orders] = await cluster.apply('examples/orders.yaml')
   * ```
   */
  async apply(...manifests: readonly Manifest[]): Promise<StoredOf<string>[]> {
    return (await this.#start.contents.apply(await readManifests(manifests))) as StoredOf<string>[]
  }

  /**
   * What a namespace of the option `namespaces` is called in the cluster: on the embedded one the same, on a real one a name of this
   * test's own.
   *
   * @example
   * ```ts
   * await using cluster = await startCluster({ namespaces: ['blue', 'green'] })
   * await cluster.create('configmaps', { name: 'settings', namespace: cluster.namespaceOf('green') })
   * ```
   */
  namespaceOf(name: string): string {
    const found = this.#site.namespaces.get(name)
    if (found !== undefined) return found
    const known = [...this.#site.namespaces.keys()].map((one) => `"${one}"`).join(', ')
    throw new KopfError(
      'KOPF_NAMESPACE',
      `Cannot tell the namespace ${JSON.stringify(name)}: the cluster was started with ${known}; name it in \`namespaces\``,
    )
  }

  /** An object by its name; an `ApiError` where there is none. */
  get<const R extends ResourceLike>(resource: R, name: string, options?: GetOptions): Promise<StoredOf<R>> {
    return this.client.get(resource, name, options)
  }

  /** All objects of a resource, or those that the options select. */
  list<const R extends ResourceLike>(resource: R, options?: SelectionOptions): Promise<StoredOf<R>[]> {
    return this.client.list(resource, options)
  }

  /** A merge patch, or JSON patch operations where an array is given. */
  patch<const R extends ResourceLike>(
    resource: R,
    name: string,
    patch: object,
    options?: PatchOptions,
  ): Promise<StoredOf<R>> {
    return this.client.patch(resource, name, patch, options)
  }

  /** Puts the object in the place of the one of its name. */
  replace<const R extends ResourceLike>(
    resource: R,
    object: ObjectInput<ObjectOf<R>>,
    options?: WriteOptions,
  ): Promise<StoredOf<R>> {
    return this.client.replace(resource, object, options)
  }

  /** Gone, or on its way: `untilGone` waits for the end. */
  async delete(resource: ResourceLike, name: string, options?: DeleteOptions): Promise<void> {
    await this.client.delete(resource, name, options)
  }

  /**
   * The first state of an object that is as expected: of all states since the test last saw the object (by `create`, `get`, `patch`, an
   * earlier `until`, …), in their order; of an object that the test never saw, since the start of the cluster. No state is missed, however
   * short it was; states before the last `settled()` or `clock.advance()` are over. Time passes meanwhile.
   *
   * The expectation is a function, or the fields that the object should have: then the failure shows what differs.
   *
   * @example
   * ```ts
   * const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
   * await cluster.until('configmaps', 'settings', { data: { color: 'blue' } })
   * ```
   */
  until<const R extends ResourceLike>(
    resource: R,
    name: string,
    expectation: Expectation<StoredOf<R>>,
    options?: UntilOptions,
  ): Promise<StoredOf<R>>
  /**
   * The first state of a list that is as expected, sorted by namespace and name: of all states since the last step of the test (its last
   * write, read or finished wait), in their order.
   *
   * @example
   * ```ts
   * const pods = await cluster.until('pods', { labelSelector: { app: 'web' } }, (pods) => pods.length === 3)
   * await cluster.until('pods', {}, (pods) => pods.length === 0)
   * ```
   */
  until<const R extends ResourceLike>(
    resource: R,
    selection: ListSelection,
    expectation: (objects: StoredOf<R>[]) => unknown,
    options?: WaitOptions,
  ): Promise<StoredOf<R>[]>
  /**
   * Waits until a function of the test returns something truthy, or a promise of it, and resolves to that. For conditions outside of the
   * cluster, such as the number of calls of a handler. The function is called whenever something has happened, and at least once before
   * time passes. It sees only the present state of the cluster: to see every state of an object, wait for the object.
   *
   * @example
   * ```ts
   * await cluster.until(() => calls.length === 3)
   * ```
   */
  until<T>(condition: () => T, options?: WaitOptions): Promise<Awaited<T>>
  async until(
    subject: ResourceLike | (() => unknown),
    which: string | ListSelection | WaitOptions = {},
    expectation?: unknown,
    options: UntilOptions = {},
  ): Promise<unknown> {
    // A resource may be a function too: then there is an expectation.
    if (typeof subject === 'function' && expectation === undefined) {
      return await this.#waits.forCondition(subject as () => unknown, which as WaitOptions)
    }
    const resource = subject as ResourceLike
    if (typeof which === 'string') {
      return await this.#waits.forObject(resource, which, expectation as Expectation<KubeObject>, options)
    }
    const predicate = expectation as (objects: KubeObject[]) => unknown
    return await this.#waits.forList(resource, which as ListSelection, predicate, options)
  }

  /**
   * When there is no such object, or there was none for a moment since the test last saw it: an object of the same name may be there
   * again, with another uid. Time passes meanwhile.
   */
  async untilGone(resource: ResourceLike, name: string, options: UntilOptions = {}): Promise<void> {
    await this.#waits.forAbsence(resource, name, options)
  }

  /** When nothing more is written and no handler is under way, for so long; what is further off, such as timers, is not waited for. */
  async settled({ quiet = '5s', ...options }: SettledOptions = {}): Promise<void> {
    const quietMs = toMs(quiet, '`quiet`')
    const { clock } = this.#site
    let sinceMs = clock.now()
    let version: string | undefined
    const timeout = Math.min(this.#site.timeoutMs, maxBusyMs) / 1000
    await waitFor(
      this.#site,
      { timeout, ...options },
      {
        look: async () => {
          const current = this.#site.version ?? (await this.#fingerprint())
          if (current !== version || clock.occupied('call') > 0) sinceMs = clock.now()
          version = current
          return clock.now() - sinceMs >= quietMs ? true : undefined
        },
        untilMs: () => sinceMs + quietMs,
        complain: () =>
          `something happens all the time, and never nothing for ${quietMs / 1000} seconds; wait for a state with \`until\`, ` +
          `or for a shorter time with \`settled({ quiet: '1s' })\`\n${this.#lastLogs()}`,
      },
    )
    await this.#sync()
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

  /** Rejects `start()`, for which the test would wait until its runner ends it without a reason. */
  #giveUp(waitedMs: number): void {
    this.#closing.abort(timedOut(`an operator does not start\n${this.#lastLogs()}`, waitedMs))
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
      await this.#waits.close()
      await this.#start.tidy()
    } finally {
      await this.#site.close()
    }
    if (left > 0) throw stillRunning(left)
  }

  /** What happened before is over for the waits to come. */
  async #sync(): Promise<void> {
    this.#site.lastSeen.sync(await this.#site.currentVersion())
  }

  /** Of all that operators may have written into the namespaces, the part that tests are about. */
  async #fingerprint(): Promise<string> {
    const watched: ResourceLike[] = [['v1', 'events'], ...this.#start.contents.resources]
    const places = [...this.#site.namespaces.values()]
    const lists = await Promise.all(
      watched.flatMap((resource) => places.map((namespace) => this.client.list(resource, { namespace }))),
    )
    return (lists as KubeObject[][])
      .flatMap((objects) => objects.map(({ metadata }) => metadata.resourceVersion))
      .join()
  }

  #log(line: string): void {
    this.logs.push(line.trimEnd())
    // Many at a time: each cut moves all the lines that stay.
    if (this.logs.length >= 2 * maxLogs) this.logs.splice(0, this.logs.length - maxLogs)
  }

  #lastLogs(): string {
    return describeLogs(this.logs)
  }
}
