/** The options of `operator.start()` and `operator.run()`, the running operator that `start()` returns, and its session for commands. */
import type { GivenConnection } from '../client/auth/connection-info.ts'
import type { Session } from '../client/session.ts'
import type { Lifecycle } from '../handlers/lifecycles.ts'
import type { NamespacePattern } from '../kube/namespaces.ts'
import type { Observer } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import type { FrameworkLevel, LogSink, PinoLike } from '../util/log/log.ts'
import type { Transport } from '../util/transport.ts'

/**
 * The options of `operator.start()` and `operator.run()`. All are optional: without any, the operator serves the whole cluster of the
 * service account or of the kubeconfig.
 */
export interface RunOptions {
  /**
   * The namespaces to serve: names, globs (`'team-*,!team-x'`) or regular expressions. Default: the whole cluster.
   */
  readonly namespaces?: readonly NamespacePattern[]
  /** Whether to serve the whole cluster and ignore `namespaces`. Default: true if `namespaces` is empty. */
  readonly clusterwide?: boolean
  /** Whether to run without peering. Sets `settings.peering.standalone`. Default: false. */
  readonly standalone?: boolean
  /** The priority in the peering: the operator with the highest priority runs, others pause. Sets `settings.peering.priority`. Default: 0. */
  readonly priority?: number
  /**
   * The name of the peering, which is then mandatory: the operator pauses while the peering object does not exist. Sets
   * `settings.peering.name` and `.mandatory`. Default: the peering "default", if it exists.
   */
  readonly peering?: string
  /**
   * The identity of this operator among its peers and replicas. Default: the environment variable `POD_ID`, or else a name made of user, host
   * and time.
   */
  readonly identity?: string
  /** Stops the operator when it is aborted. Default: only `stop()` and signals of the process stop it. */
  readonly signal?: AbortSignal
  /**
   * The credentials of the cluster, or a function that returns them. The function is called again when the credentials expire or are rejected.
   * Default: the login handlers, or else the service account of the pod, or else the kubeconfig.
   */
  readonly connection?: GivenConnection
  /** Sends the requests instead of a connection: `server.api` of the embedded server, for example. Default: HTTPS to the cluster. */
  readonly transport?: Transport
  /** The clock for all waiting, such as a `SkippingClock` in tests. Default: the system clock. */
  readonly clock?: Clock
  /** The destination of log lines: the result of `configureLogging`, or a logger with the interface of pino. Default: the global one. */
  readonly logging?: LogSink | PinoLike
  /**
   * The lowest level of the framework's own log lines, such as "Handler … succeeded.". Overrides `settings.logging.frameworkLevel`.
   * Default: the setting.
   */
  readonly frameworkLogLevel?: FrameworkLevel
  /**
   * Selects which of the due handlers are called next, for this run. Default: the lifecycle of the operator.
   *
   * @deprecated Give the lifecycle to `new Operator({ lifecycle })`.
   */
  readonly lifecycle?: Lifecycle
  /** The address of the health endpoint, such as `http://0.0.0.0:8080/healthz`. Default: no endpoint. */
  readonly livenessEndpoint?: string
  /**
   * Compiles a module of `inWorker` and resolves to the URL to import. `kopf run` passes a function that compiles TypeScript. Default: the
   * module is imported unchanged.
   */
  readonly loadWorkerModule?: (url: URL) => Promise<URL>
  /**
   * Added to the log lines about handlers that a stop waits for: how a user ends the process at once. `kopf run` and `operator.run()` pass
   * "Ctrl-C again to end at once" at a terminal. Default: none.
   */
  readonly stopHint?: string
  /** Whether the address of the dashboard is logged at the start. `kopf dev` passes false, and prints an address of its own. Default: true. */
  readonly logsDashboard?: boolean
  /** Listens to the events of the run: streams, objects, handlers, requests. Default: none. */
  readonly observer?: Observer
}

/**
 * A running operator, returned by `operator.start()`. With `await using`, it stops at the end of the block.
 *
 * @example
 * ```ts
 * await using running = await kopf.start()
 * await running.ready
 * ```
 */
export interface RunningOperator extends AsyncDisposable {
  /**
   * Resolves when all existing objects have been seen; also on a replica that is not the leader, which handles none of them. Rejects if the
   * operator stops or fails before that.
   */
  readonly ready: Promise<void>
  /** Resolves when the operator has stopped. Rejects if it has failed or lost the leadership (`KOPF_LEADERSHIP`). */
  readonly done: Promise<void>
  /** Aborted when the operator begins to stop, for any reason. */
  readonly stopping: AbortSignal
  /**
   * Stops the operator. Running handlers may continue for `settings.queueing.exitTimeout`; then daemons are stopped, pending patches are
   * written, and the cleanup handlers are called. Resolves when all of this is done; rejects if a cleanup handler fails.
   */
  stop(): Promise<void>
}

/** The dashboard of a running operator. For commands. */
export interface RunningDashboard {
  /** Where it is served: `http://127.0.0.1:8444/`. */
  readonly url: string
  /** An address that logs in a developer on this machine, once; undefined if other machines can connect. */
  createLoginUrl(): string | undefined
}

/** A registered symbol, for the same reason as `sessionKey`. */
export const dashboardKey: unique symbol = Symbol.for('kopf.RunningOperator.dashboard') as never

/** The dashboard of a running operator; undefined without one. */
export function dashboardOf(running: RunningOperator): RunningDashboard | undefined {
  return (running as RunningOperator & { readonly [dashboardKey]?: RunningDashboard })[dashboardKey]
}

/** Marks running operators. A registered symbol: the command and the user's project may each have loaded a copy of this package. */
export const sessionKey: unique symbol = Symbol.for('kopf.RunningOperator.session') as never

/** The session of a running operator, with its credentials. For commands. */
export function sessionOf(running: RunningOperator): Session {
  return (running as RunningOperator & { readonly [sessionKey]: Session })[sessionKey]
}
