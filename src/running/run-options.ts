/** What an operator is started with, and what comes of it. Types only. */
import type { ConnectionInfo } from '../client/credentials.ts'
import type { Lifecycle } from '../core/handling/lifecycles.ts'
import type { Registry } from '../core/handling/registry.ts'
import type { Settings } from '../core/settings.ts'
import type { NamespacePattern } from '../kube/namespaces.ts'
import type { Clock } from '../util/clock.ts'
import type { FrameworkLevel, LogSink, PinoLike } from '../util/log.ts'
import type { Transport } from '../util/transport.ts'
import type { RunObserver } from './run-observer.ts'

/** What may come of a login: nothing where there is nothing to log in with. */
export type LoginAnswer = ConnectionInfo | null | undefined

/** Where an operator runs and what it serves; what is not said is found out. */
export interface RunOptions {
  /** Only what is in these namespaces: names, globs, or expressions. */
  readonly namespaces?: readonly NamespacePattern[]
  /** The whole cluster; so it is where no namespaces are given. */
  readonly clusterwide?: boolean
  /** Take no notice of other operators. Goes into `settings.peering.standalone`. */
  readonly standalone?: boolean
  /** Among operators of the same peering: the highest one runs. Goes into `settings.peering.priority`. Default: 0. */
  readonly priority?: number
  /**
   * The name of the peering, which is mandatory then: without it, the operator is paused. Goes into `settings.peering.name`
   * and `.mandatory`. Default: the one of the name "default", if there is any.
   */
  readonly peering?: string
  /** What other operators, and other replicas, know it by. Default: `POD_ID` of the environment, else a name made of user, host and time. */
  readonly identity?: string
  /** Stops the operator when it is aborted. */
  readonly signal?: AbortSignal
  /**
   * How to reach the cluster; default: as the login handlers say, else the service account of the pod, or the kubeconfig.
   * A function is asked again whenever the credentials have expired or are not accepted any more.
   */
  readonly connection?: ConnectionInfo | (() => LoginAnswer | PromiseLike<LoginAnswer>)
  /** Instead of a connection: what takes the requests, such as the embedded server. */
  readonly transport?: Transport
  readonly clock?: Clock
  /** Where log lines go: what `configureLogging` returns, or a logger of pino's shape. */
  readonly logging?: LogSink | PinoLike
  /**
   * The least level of the framework's own lines, as "Handler … succeeded."; wins over `settings.logging.frameworkLevel`.
   * Default: as the setting says.
   */
  readonly frameworkLogLevel?: FrameworkLevel
  /** Which handlers go first; default: all that are due, in the order of registration. */
  readonly lifecycle?: Lifecycle
  /** Where to tell of its health, such as `http://0.0.0.0:8080/healthz`; default: nowhere. */
  readonly livenessEndpoint?: string
  /** Makes of a module of `inWorker` what can be imported, and answers with its address; `kopf run` compiles TypeScript. */
  readonly loadWorkerModule?: (url: URL) => Promise<URL>
  /** Told of the run as it happens: what is watched, what was there, what came of it. */
  readonly observer?: Partial<RunObserver>
}

/** What the operator itself brings along. */
export interface Blueprint {
  readonly name: string | undefined
  readonly registry: Registry
  readonly settings: Settings
  readonly lifecycle: Lifecycle
  readonly memo: object
}

/** An operator at work. Leaving the block of `await using` stops it. */
export interface RunningOperator extends AsyncDisposable {
  /** Resolves when all objects that are there have been seen; also on a stand-by, which handles none of them yet. */
  readonly ready: Promise<void>
  /** Resolves when it has been stopped; rejects when it has failed, or leads no more (`KOPF_LEADERSHIP`). */
  readonly done: Promise<void>
  /** Aborted when it begins to stop, for whatever reason. */
  readonly stopping: AbortSignal
  /** Lets handlers finish what they hold, for a while, and cleans up. */
  stop(): Promise<void>
}
