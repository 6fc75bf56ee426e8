/**
 * `Cluster`, the handle of a test cluster: operators are started on it, and the test reads, writes and waits for objects with it.
 * The differences between the embedded server and a real cluster are in backend.ts; start-cluster.ts creates it.
 */

import type { ConnectionInfo } from '../../client/auth/connection-info.ts'
import type { Client } from '../../client/client.ts'
import type {
  ClientPatchType,
  DeleteOptions,
  GetOptions,
  ObjectInput,
  PatchInput,
  PatchOptions,
  RequestObject,
  SelectionOptions,
  StoredOf,
  WriteOptions,
} from '../../client/client-options.ts'
import { KopfError } from '../../errors.ts'
import type { Meta } from '../../handlers/args/args.ts'
import type { Event } from '../../kube/builtins/core/v1.generated.ts'
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

/** The objects that `startCluster` has created. */
interface ClusterStart {
  readonly contents: ClusterContents
  /** The resource version after their creation. */
  readonly startVersion: string
  /** Removes the objects from a real cluster. */
  readonly cleanUp: () => Promise<void>
}

/** The number of log lines kept. */
const maxLogs = 10_000

/**
 * Limit of `settled()` in cluster time: a cluster that is never quiet for so long does not become quiet. The error is thrown
 * before the test runner ends the test without a reason.
 */
const maxBusyMs = 300_000

/**
 * A cluster for tests, created by `startCluster`: the embedded API server in this process, or a namespace of a real cluster. Pass
 * it to `operator.start(cluster)` as the run options, and use its methods to create, change and await objects.
 */
export class Cluster implements RunOptions, AsyncDisposable {
  /** The clock of the operators on the cluster. `clock.advance('1h')` lets time pass. */
  readonly clock: ClusterClock
  /** Aborted when the cluster stops: operators stop with their cluster. */
  readonly signal: AbortSignal
  /** The connection of operators to the embedded server, without a socket. */
  readonly transport?: Transport
  /** The connection of operators to a real cluster. */
  readonly connection?: ConnectionInfo
  /** The namespaces to which operators are limited; undefined for the whole cluster. */
  readonly namespaces?: NonNullable<RunOptions['namespaces']>
  /** The log sink of operators. It appends to `logs`. */
  readonly logging: LogSink
  /**
   * The last 10,000 to 20,000 lines that operators have logged, including debug messages: `[default/orders] Handler 'create'
   * succeeded.`
   */
  readonly logs: string[] = []
  /**
   * The default namespace of objects: the first of the option `namespaces`, otherwise `default`; on a real cluster a new
   * namespace of this test.
   */
  readonly namespace: string
  /** The client of the test, with all verbs of the API. Faults do not affect its requests. */
  readonly client: Client
  readonly #backend: ClusterBackend
  readonly #closing = new AbortController()
  readonly #start: ClusterStart
  readonly #waits: ClusterWaits

  constructor(backend: ClusterBackend, start: ClusterStart) {
    const { transport, connection, namespaces } = backend.access
    this.#backend = backend
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

  /** Faults to inject into the requests of operators. Throws on a real cluster. */
  get faults(): ClusterFaults {
    return this.#backend.faults
  }

  /** The requests that operators have sent. Throws on a real cluster. */
  get requests(): ClusterRequests {
    return this.#backend.requests
  }

  /** The embedded API server, for features that the cluster does not have itself, such as `compact()`. Not on a real cluster. */
  get server(): ApiServer {
    return this.#backend.server
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
    return this.#backend.openTransport()
  }

  /**
   * Creates an object. If the resource has a status subresource and the object has a status, the status is written with a second
   * request.
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
    const body = { ...rest, metadata: { ...metadata, ...present } }
    const untyped: ResourceLike = resource
    const created = await this.client.create(untyped as string, body)
    const { status } = rest
    if (status === undefined || isDeepEqual(created.status, status)) return created as unknown as StoredOf<R>
    const { name: given, namespace: storedIn } = created.metadata
    const options = { subresource: 'status', ...(storedIn === undefined ? {} : { namespace: storedIn }) }
    return (await this.client.patch(untyped as string, given, { status }, options)) as unknown as StoredOf<R>
  }

  /**
   * Creates the objects of YAML files, folders or manifests. An object that exists already is updated with server-side apply.
   * Returns the stored objects in the given order.
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
   * The actual name of a namespace of the option `namespaces`: the same name on the embedded server, a generated name on a real
   * cluster.
   *
   * @example
   * ```ts
   * await using cluster = await startCluster({ namespaces: ['blue', 'green'] })
   * await cluster.create('configmaps', { name: 'settings', namespace: cluster.namespaceOf('green') })
   * ```
   */
  namespaceOf(name: string): string {
    const found = this.#backend.namespaces.get(name)
    if (found !== undefined) return found
    const known = [...this.#backend.namespaces.keys()].map((one) => `"${one}"`).join(', ')
    throw new KopfError(
      'KOPF_NAMESPACE',
      `Cannot find the namespace ${JSON.stringify(name)}: the cluster was started with ${known}; add it to \`namespaces\``,
    )
  }

  /** Reads an object by its name. Rejects with an `ApiError` (404) if there is none. */
  get<const R extends ResourceLike, const S extends string | undefined = undefined>(
    resource: R,
    name: string,
    options?: GetOptions<S>,
  ): Promise<StoredOf<R, S>> {
    return this.client.get(resource, name, options)
  }

  /** Lists the objects of a resource: by default those in the namespace of the cluster. */
  list<const R extends ResourceLike>(resource: R, options?: SelectionOptions): Promise<StoredOf<R>[]> {
    return this.client.list(resource, options)
  }

  /** Patches an object: with a JSON merge patch, or with JSON patch operations if `patch` is an array. */
  patch<
    const R extends ResourceLike,
    const S extends string | undefined = undefined,
    const Y extends ClientPatchType | undefined = undefined,
  >(
    resource: R,
    name: string,
    patch: PatchInput<RequestObject<R, S>, Y>,
    options?: PatchOptions<S, Y>,
  ): Promise<StoredOf<R, S>> {
    return this.client.patch(resource, name, patch, options)
  }

  /** Replaces the object of the same name (PUT). */
  replace<const R extends ResourceLike, const S extends string | undefined = undefined>(
    resource: R,
    object: ObjectInput<RequestObject<R, S>>,
    options?: WriteOptions<S>,
  ): Promise<StoredOf<R, S>> {
    return this.client.replace(resource, object, options)
  }

  /** Deletes an object. An object with finalizers exists until these are removed: await it with `untilGone`. */
  async delete(resource: ResourceLike, name: string, options?: DeleteOptions): Promise<void> {
    await this.client.delete(resource, name, options)
  }

  /**
   * Resolves with the first state of an object that meets the expectation. Examines, in order, all states since the test has last
   * seen the object (with `create`, `get`, `patch`, an earlier `until`, …), or since the start of the cluster if the test has
   * never seen it. No state is missed, however short it was; states before the last `settled()` or `clock.advance()` are ignored.
   * Time passes during the wait.
   *
   * The expectation is a function, or the fields that the object should have. With fields, the error message shows the
   * differences.
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
   * Resolves with the first state of a list that meets the expectation, sorted by namespace and name. Examines, in order, all
   * states since the last step of the test (its last write, read or finished wait).
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
   * Resolves when the object does not exist, or was deleted since the test has last seen it: a new object with the same name and
   * another uid may exist already. Time passes during the wait.
   */
  async untilGone(resource: ResourceLike, name: string, options: UntilOptions = {}): Promise<void> {
    await this.#waits.forAbsence(resource, name, options)
  }

  /**
   * Resolves when the cluster has been quiet for a while (`quiet`, default 5 seconds of cluster time): no write, and no running
   * handler. Does not wait for later events, such as timers that are not due. Later waits ignore the states before.
   */
  async settled({ quiet = '5s', ...options }: SettledOptions = {}): Promise<void> {
    const quietMs = toMs(quiet, '`quiet`')
    const { clock } = this.#backend
    let sinceMs = clock.now()
    let version: string | undefined
    const timeout = Math.min(this.#backend.timeoutMs, maxBusyMs) / 1000
    await waitFor(
      this.#backend,
      { timeout, ...options },
      {
        check: async () => {
          const current = this.#backend.version ?? (await this.#fingerprint())
          if (current !== version || clock.occupied('call') > 0) sinceMs = clock.now()
          version = current
          return clock.now() - sinceMs >= quietMs ? true : undefined
        },
        untilMs: () => sinceMs + quietMs,
        describeProblem: () =>
          `the cluster is never quiet for ${quietMs / 1000} seconds; wait for a state with \`until\`, ` +
          `or for a shorter time with \`settled({ quiet: '1s' })\`\n${this.#lastLogs()}`,
      },
    )
    await this.#sync()
  }

  /** Lists the Kubernetes events about an object, oldest first. */
  async events(object: { readonly metadata?: Meta | undefined }): Promise<Event[]> {
    const { name, namespace = 'default', uid } = object.metadata ?? {}
    const events = await this.client.list(['v1', 'events'], { namespace })
    return events.filter(
      ({ involvedObject }) => involvedObject.name === name && (uid ?? involvedObject.uid) === involvedObject.uid,
    )
  }

  /**
   * Returns run options for an operator that authenticates as a service account. With `authorization: 'rbac'`, and always on a
   * real cluster, it has only the permissions that roles grant to the account. The service account must exist.
   *
   * @example
   * ```ts
   * await using cluster = await startCluster({ authorization: 'rbac', objects: [account, role, binding] })
   * await using _operator = await kopf.start(await cluster.as({ serviceAccount: 'operator' }))
   * ```
   */
  async as(account: ServiceAccountName): Promise<RunOptions> {
    const { clock, signal, logging } = this
    return { clock, signal, logging, ...(await this.#backend.accessFor({ namespace: this.namespace, ...account })) }
  }

  /** Writes a kubeconfig with the credentials of a service account and returns its path. Rejects on a real cluster. */
  kubeconfigFor(account: ServiceAccountName): Promise<string> {
    return this.#backend.kubeconfig({ namespace: this.namespace, ...account })
  }

  /**
   * Writes a kubeconfig for kubectl and other programs and returns its path. The embedded server then also listens on a port.
   * Rejects on a real cluster.
   */
  kubeconfig(): Promise<string> {
    return this.#backend.kubeconfig()
  }

  /** Makes `start()` reject: otherwise the test would wait until the test runner ends it without a reason. */
  #giveUp(waitedMs: number): void {
    this.#closing.abort(timedOut(`an operator does not start\n${this.#lastLogs()}`, waitedMs))
  }

  /** The same as `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /**
   * Stops operators that still run, removes from a real cluster the objects that the test has created, and closes the cluster.
   * Rejects with `KOPF_CLUSTER_IN_USE` if operators were still running.
   */
  async stop(): Promise<void> {
    const left = this.clock.occupied('run')
    this.#closing.abort()
    try {
      await waitFor(
        this.#backend,
        { timeout: '1h' },
        {
          check: async () => (this.clock.occupied('run') === 0 ? true : undefined),
          describeProblem: () => `operators on the cluster do not stop\n${this.#lastLogs()}`,
        },
      )
      await this.#waits.close()
      await this.#start.cleanUp()
    } finally {
      await this.#backend.close()
    }
    if (left > 0) throw stillRunning(left)
  }

  /** Lets later waits ignore all states so far. */
  async #sync(): Promise<void> {
    this.#backend.lastSeen.sync(await this.#backend.currentVersion())
  }

  /**
   * The versions of all custom objects and Kubernetes events in the namespaces of the test. Any write of an operator to them
   * changes the result.
   */
  async #fingerprint(): Promise<string> {
    const watched: ResourceLike[] = [['v1', 'events'], ...this.#start.contents.resources]
    const namespaces = [...this.#backend.namespaces.values()]
    const lists = await Promise.all(
      watched.flatMap((resource) => namespaces.map((namespace) => this.client.list(resource, { namespace }))),
    )
    return (lists as KubeObject[][])
      .flatMap((objects) => objects.map(({ metadata }) => metadata.resourceVersion))
      .join()
  }

  #log(line: string): void {
    this.logs.push(line.trimEnd())
    // Lines are removed in large portions, because each removal moves all remaining lines.
    if (this.logs.length >= 2 * maxLogs) this.logs.splice(0, this.logs.length - maxLogs)
  }

  #lastLogs(): string {
    return describeLogs(this.logs)
  }
}
