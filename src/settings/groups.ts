/**
 * The groups of settings that users can change, in Kopf's order, each setting with its meaning and its default. Types only: schema.ts has
 * the defaults and the checks. The tables in docs/reference/settings.md are generated from the comments here.
 */

import type { DiffBaseStorage } from '../persistence/diffbase-storage.ts'
import type { ProgressStorage } from '../persistence/progress-storage.ts'
import type { FrameworkLevel } from '../util/log/log.ts'
import type { Duration } from '../util/text/duration.ts'
import type { SelectorMap } from './selector-map.ts'
import type { WebhookServerLike } from './webhook-server.ts'

/**
 * The delays between attempts: one duration for a single retry, or one per retry. Any iterable that can be iterated repeatedly, even an
 * infinite one.
 */
export type BackoffDelays = Duration | Iterable<Duration>

type PostingLevel = 'debug' | 'info' | 'warn' | 'error'

/** The process that runs the operator. */
interface ProcessSettings {
  /**
   * Whether `kopf run` and `operator.run()` start a thread that watches the event loop. It names the handler that blocks the
   * loop, and receives signals while the loop is blocked. Default: true.
   */
  guard: boolean
  /**
   * How long `kopf run` waits, when it is stopped, for a handler that blocks the event loop. Then the process exits with code 1.
   * `null`: no limit. Default: 5.
   */
  blockedExitTimeout: Duration | null
  /**
   * How long a graceful stop of `kopf run` may take. Then the process exits with code 1. `null`: no limit. Default: 600.
   */
  ultimateExitingTimeout: Duration | null
  /**
   * How long after the request to stop the process is killed: `terminationGracePeriodSeconds` of the pod. The stop then fits into it:
   * `queueing.exitTimeout` and `ultimateExitingTimeout` are shortened, and handlers have the time that the last steps of the stop leave. `kopf run`
   * sets it from `--grace-period` or `KOPF_RUN_GRACE_PERIOD`, which `kopf manifests` writes. `null`: not known. Default: null.
   */
  gracePeriod: Duration | null
}

/** Kubernetes events about the handled objects. */
interface PostingSettings {
  /** Whether events are posted. Default: true. */
  enabled: boolean
  /** Whether log lines about an object are also posted as events of the object. Default: false. */
  loggers: boolean
  /** The lowest level that is posted: `debug`, `info`, `warn` or `error`. Default: "info". */
  level: PostingLevel
  /** The delays between attempts to post an event of `recorder`. Default: 1, 1, 2, 3, 5, 8, 13, 21. */
  defaultBackoffs: BackoffDelays
  /** The delays between attempts to post an event that was made of a log line. Default: 1, 1, 2, 3, 5. */
  loggingBackoffs: BackoffDelays
  /** For how many objects events are posted at the same time. `null`: 100. Default: null. */
  workerLimit: number | null
  /** `reportingComponent` of the events. Default: "kopf". */
  reportingComponent: string
  /** `reportingInstance` of the events. Default: "dev". */
  reportingInstance: string
  /** `metadata.generateName` of the events. Default: "kopf-event-". */
  eventNamePrefix: string
}

/** The operator's log. `configureLogging` and the options of `kopf run` set the destination and the format. */
interface LoggingSettings {
  /**
   * The lowest level of the framework's own log lines, such as "Handler … succeeded.": `debug`, `info`, `warn` or `error`. Lines
   * that handlers write with `logger` are not affected. A suppressed line is not posted as an event either. `null`: the same level
   * as for handlers. Default: null.
   */
  frameworkLevel: FrameworkLevel | null
}

/** The registry of another metrics library: anything with `metrics()` and `contentType`, such as a `Registry` of prom-client. */
export interface ForeignRegistry {
  /** Returns all metrics as text, in the format of Prometheus or of OpenMetrics. */
  metrics(): string | Promise<string>
  /** The format of the text, as a content type. */
  readonly contentType: string
}

/** The journal: what happened to each object in this run, in memory. The dashboard and `kopf explain --history` show it. Read at the start, after the startup handlers. */
interface JournalSettings {
  /**
   * Whether the journal is kept. `null`: if the dashboard is on. `false` saves the memory, and leaves the rest of the dashboard on. `true` needs the
   * dashboard, which alone can show the journal, also to `kopf explain --history`: without it, the operator warns and keeps no journal. Default: null.
   */
  enabled: boolean | null
  /** The number of entries per object; older ones are dropped. Default: 50. */
  entriesPerObject: number
  /**
   * The memory of all entries, in bytes by an estimate. Beyond it, entries of the objects are dropped that nothing has happened to for longest.
   * Default: 10485760.
   */
  maxBytes: number
}

/** The dashboard: pages about a running operator, for a browser. Read at the start, after the startup handlers. */
interface DashboardSettings {
  /**
   * Where the dashboard is served: `:8444`, `localhost:8444` or `https://0.0.0.0:8444`. The default port is 8444. Without a scheme, `localhost` is
   * served over HTTP, and everything else over HTTPS. Users log in with a bearer token of the cluster, and see the objects that they may list; on `localhost`,
   * an address with a code is also logged. `kopf run` sets it from `--dashboard` or `KOPF_RUN_DASHBOARD`. `null`: no dashboard. Default: null.
   */
  address: string | null
  /** Whether the dashboard may be served over plain HTTP on other addresses than `localhost`, where others can read tokens. Default: false. */
  plainHttp: boolean
  /** The file with the certificate and its chain for HTTPS, in PEM. It is read again when it changes. `null`: a self-signed certificate. Default: null. */
  certFile: string | null
  /** The file with the private key of `certFile`, in PEM. Default: null. */
  keyFile: string | null
}

/** The operator's metrics. */
interface MetricsSettings {
  /**
   * Where the metrics are served: `:8443`, `localhost:8080` or `https://0.0.0.0:8443/metrics`. The default port is 8443, the default path
   * `/metrics`. Without a scheme, `localhost` is served over HTTP, and everything else over HTTPS. Over HTTPS, a client needs a bearer token
   * of the cluster and the permission to `get` the path. `kopf run` sets it from `--metrics` or `KOPF_RUN_METRICS`. Read at the start, after the
   * startup handlers. `null`: metrics are not served. Default: null.
   */
  address: string | null
  /**
   * Whether metrics may be served over plain HTTP, without authentication, on other addresses than `localhost`. Default: false.
   */
  plainHttp: boolean
  /**
   * The file with the certificate and its chain for HTTPS, in PEM. It is read again when it changes. `null`: a self-signed certificate, which
   * clients cannot verify. Default: null.
   */
  certFile: string | null
  /** The file with the private key of `certFile`, in PEM. Default: null. */
  keyFile: string | null
  /**
   * The registry of another metrics library, whose metrics are served together with those of the operator. If it has a metric of the same
   * name as the operator, that of the operator is served. `null`: none. Default: null.
   */
  registry: ForeignRegistry | null
  /**
   * Whether the series about handlers have the label `namespace`. At most 200 namespaces have their own series; the others are
   * counted as `other`. Default: false.
   */
  namespaces: boolean
}

/** Spans of OpenTelemetry. They exist only if the process of the operator registers a tracer provider. */
interface TracingSettings {
  /** Whether the operator creates spans. Read at each use. Default: true. */
  enabled: boolean
}

/** Peering: operators that handle the same objects pause for each other. Read at the start, after the startup handlers. */
export interface PeeringSettings {
  /** The name of the peering object. Operators with different names ignore each other. Default: "default". */
  name: string
  /** Whether keep-alives are left out of the log. Default: false. */
  stealth: boolean
  /** The priority of this operator. It pauses while an operator with the same or a higher priority runs. Default: 0. */
  priority: number
  /** How long other operators count this one as running after its last keep-alive. Default: 60. */
  lifetime: Duration
  /**
   * The upper limit for `lifetime` in the records of other operators, and for the duration of `kopf freeze`: longer lifetimes are
   * shortened to it. Default: "24h".
   */
  maxLifetime: Duration
  /** Whether the operator pauses while the peering object does not exist. Default: false. */
  mandatory: boolean
  /** Whether the operator runs without peering, even if the peering object exists. Default: false. */
  standalone: boolean
  /**
   * Whether to use a `ClusterKopfPeering` rather than a `KopfPeering` in each namespace. Set at each start from the scope of the
   * operator. Default: false.
   */
  clusterwide: boolean
}

/** Leader election among several replicas of one operator, with a Lease. The names and values are those of client-go. */
export interface ElectionSettings {
  /** Whether the replicas elect a leader. Otherwise every replica handles the objects. Default: false. */
  enabled: boolean
  /** The name of the Lease. `null`: the name of the operator. Default: null. */
  name: string | null
  /** The namespace of the Lease. `null`: the namespace in which the operator runs. Default: null. */
  namespace: string | null
  /** How long the other replicas wait after the last renewal before one of them takes the Lease. Default: "15s". */
  leaseDuration: Duration
  /**
   * How long the leader works without a successful renewal. Shorter than `leaseDuration`, so that the leader stops before another
   * replica starts. Default: "10s".
   */
  renewDeadline: Duration
  /** How often the leader renews the Lease, and the delay between attempts. Default: "2s". */
  retryPeriod: Duration
}

/** How objects are queued and processed. */
interface QueueingSettings {
  /**
   * How many objects an operator processes at the same time. `null`: no limit. Namespaces take turns, and a quarter of the
   * workers is reserved for namespaces that use less than their share.
   * Default: 64. (Kopf has no limit: a large cluster then starts with one burst of requests.)
   */
  workerLimit: number | null
  /**
   * After this time, a handler counts as slow: its worker no longer counts against `workerLimit`, and another object is processed
   * in its place. `null`: never. Default: "5s".
   */
  slowAfter: Duration | null
  /**
   * How many workers with slow handlers there can be in addition to `workerLimit`. The objects of one namespace can use half of
   * them. `null`: no limit. Default: 512.
   */
  slowWorkerLimit: number | null
  /**
   * How long running handlers may continue when the operator stops. With `process.gracePeriod`, the default is what the last steps of the stop leave
   * of it. Default: 15, which fits into the 30 seconds that Kubernetes grants a pod. (Kopf: 2.)
   */
  exitTimeout: Duration
  /**
   * How long an object is not processed after an unexpected error of the framework: the first delay after the first error in a
   * row, and so on; the last delay repeats. An empty list: no delays. Default: 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610.
   */
  errorDelays: Iterable<Duration>
}

/** Discovery of resources and namespaces. */
interface ScanningSettings {
  /**
   * Whether not to watch CRDs and namespaces. The operator then serves the resources that exist when it starts, in the namespaces
   * that are given by exact name. Default: false.
   */
  disabled: boolean
}

/** Admission and conversion webhooks. */
interface AdmissionSettings {
  /**
   * The server that receives the requests of the API server, such as `new WebhookServer()` of `kopf/webhooks`. Required if the
   * operator has admission or conversion handlers. Default: null.
   */
  server: WebhookServerLike | null
  /**
   * The name of the webhook configurations that the operator creates and updates; must contain a dot. `null`: the operator does
   * not touch webhook configurations. Default: null.
   */
  managed: string | null
}

/** How handlers are called. */
interface ExecutionSettings {
  /** The delay before a handler without its own `backoff` is retried after an arbitrary error. Default: 60. */
  defaultBackoff: Duration
  /** How many threads there can be for handlers made with `inWorker`. `null`: the number of CPU cores. Default: null. */
  maxWorkers: number | null
}

/** How daemons and timers are stopped. */
export interface BackgroundSettings {
  /**
   * How often the log says that the operator still waits for a daemon without a `cancellationTimeout`, or for the call of a timer.
   * Default: 60.
   */
  cancellationPolling: Duration
  /**
   * How long a daemon may take to exit before the log mentions it and the cancellation starts. `null`: use
   * `instantExitZeroTimeCycles`. Default: null.
   */
  instantExitTimeout: Duration | null
  /** The same as a number of turns of the event loop. `null`: 0. Default: 10. */
  instantExitZeroTimeCycles: number | null
}

/** Children of reconciled objects. */
interface ReconcilingSettings {
  /**
   * The field manager of server-side apply. `null`: the name of the operator, or "kopf" if it has none. Do not change it later:
   * fields that were applied under another name are not removed. Default: null.
   */
  fieldManager: string | null
}

/** How the operator recognises step results that it has written itself. */
export interface StepsSettings {
  /**
   * Whether step results are signed. "preferred": signed; without a stored key, with a key in memory, so that steps run again after
   * a restart. "required": no step runs without a key that outlives the process. "off": not signed; every user who may edit
   * an object can forge results. Default: "preferred".
   */
  signing: 'required' | 'preferred' | 'off'
  /**
   * The signing keys, as strings of at least 32 characters: the first key signs, all keys verify. Empty: the keys in the Secret.
   * Default: none.
   */
  keys: readonly string[]
  /**
   * The name of the Secret with the keys, in the namespace in which the operator runs. `null`: the name of the operator followed
   * by "-steps", or "kopf-steps" if it has none. Default: null.
   */
  secret: string | null
}

/** The state that the operator stores on objects. Must not change while objects are handled. */
export interface PersistenceSettings {
  /**
   * The finalizer that keeps an object until its deletion handlers have succeeded. Default:
   * "kopf.zalando.org/KopfFinalizerMarker".
   */
  finalizer: string
  /** Where the progress of handlers is stored. Default: `new SmartProgressStorage()`. */
  progressStorage: ProgressStorage
  /** Where the last handled state is stored. Default: `new AnnotationsDiffBaseStorage()`. */
  diffbaseStorage: DiffBaseStorage
  /**
   * How the values of Secrets are stored in the last handled state. "digest": as digests, and `old` has a `ConcealedValue` for each.
   * "plain": in clear text, as in Kopf. Both modes can read states that were stored in the other one. Default: "digest".
   */
  secretValues: 'digest' | 'plain'
  /**
   * How long the operator waits for its own last write to arrive in the watch. Only used if the resource versions of the cluster
   * cannot be compared. 0: do not wait. Default: 5.
   */
  consistencyTimeout: Duration
}

/** Lists and watches. */
interface WatchingSettings {
  /**
   * How long the server is asked to keep a watch open (`timeoutSeconds`). `null`: a random time between 5 and 10 minutes, so that watches do not
   * reconnect together. Default: null.
   */
  serverTimeout: Duration | null
  /** How long the operator keeps a watch open. `null`: until the server closes it. Default: null. */
  clientTimeout: Duration | null
  /**
   * How long connecting a watch may take. `null`: `networking.connectTimeout`, or else `networking.requestTimeout`.
   * Default: null.
   */
  connectTimeout: Duration | null
  /** The delay before a closed watch is opened again. Default: 0.1. */
  reconnectBackoff: Duration
  /**
   * How long a watch may be silent before it counts as dead and is opened again. Servers send a bookmark every minute. Default: 70.
   */
  inactivityTimeout: Duration
  /**
   * How many objects are requested per page of a list. `null`: all at once.
   * Default: 500. (Kopf requests all at once, which costs both sides memory.)
   */
  chunkSize: number | null
  /**
   * Whether the existing objects are streamed (`sendInitialEvents`) rather than listed, if the server supports it.
   * Default: true. (Kopf: false.) Other servers are listed.
   */
  initialStreaming: boolean
  /**
   * The maximum size of an object, in bytes of its JSON. `null`: no limit. No handler is called for a larger object; its condition
   * `Handled`, an event and a log line report it. Default: 3145728, more than an API server stores of a custom resource.
   */
  maxObjectBytes: number | null
  /**
   * Label selectors that are sent to the server, per resource. All that match a resource are combined.
   * Default: empty. Example: `settings.watching.labelSelectors.set('pods', 'app=web')`.
   */
  labelSelectors: SelectorMap
  /**
   * Field selectors that are sent to the server, per resource. All that match a resource are combined. Default: empty. Example:
   * `settings.watching.fieldSelectors.set('pods', 'spec.nodeName=n1')`.
   */
  fieldSelectors: SelectorMap
  /** Shard selectors that are sent to the server, per resource. The first that matches a resource is used. Default: empty. */
  shardSelectors: SelectorMap
}

/** Requests to the API server. */
interface NetworkingSettings {
  /** How long a request may take; does not apply to watches. `null`: no limit. Default: 300. */
  requestTimeout: Duration | null
  /** How long connecting may take. `null`: the limit of the request. Default: null. */
  connectTimeout: Duration | null
  /**
   * The delays between the attempts of a request; there is one attempt more than delays. Default: 1, 1, 2, 3, 5, 8,
   * 13, 21.
   */
  errorBackoffs: BackoffDelays
  /**
   * Whether the server's `Retry-After` replaces our own delay. Otherwise the longer of the two is used. Default: false.
   */
  enforceRetryAfter: boolean
  /**
   * Whether the environment variables `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are used, unless the connection says otherwise.
   * Default: false.
   */
  trustEnv: boolean
}

/**
 * All settings of an operator, by group. Pass them to the constructor, assign them before the start, or assign them in a startup
 * handler. A wrong name or value throws a `KopfError` with the code `KOPF_SETTINGS`. Settings are read when they are used.
 *
 * @example
 * ```ts
 * const kopf = new Operator({ settings: { queueing: { workerLimit: 10 } } })
 * kopf.on.startup(({ settings }) => {
 *   settings.persistence.finalizer = 'example.com/finalizer'
 * })
 * ```
 */
export interface Settings {
  /** The process that runs the operator. */
  readonly process: ProcessSettings
  /** Kubernetes events about the handled objects. */
  readonly posting: PostingSettings
  /** The operator's log. */
  readonly logging: LoggingSettings
  /** The journal: what happened to each object in this run. */
  readonly journal: JournalSettings
  /** The dashboard: pages about a running operator, for a browser. */
  readonly dashboard: DashboardSettings
  /** The operator's metrics. */
  readonly metrics: MetricsSettings
  /** Spans of OpenTelemetry. */
  readonly tracing: TracingSettings
  /** Peering: operators that handle the same objects pause for each other. */
  readonly peering: PeeringSettings
  /** Leader election among several replicas of one operator. */
  readonly election: ElectionSettings
  /** Lists and watches. */
  readonly watching: WatchingSettings
  /** How objects are queued and processed. */
  readonly queueing: QueueingSettings
  /** Discovery of resources and namespaces. */
  readonly scanning: ScanningSettings
  /** Admission and conversion webhooks. */
  readonly admission: AdmissionSettings
  /** How handlers are called. */
  readonly execution: ExecutionSettings
  /** How daemons and timers are stopped. */
  readonly background: BackgroundSettings
  /** Children of reconciled objects. */
  readonly reconciling: ReconcilingSettings
  /** Requests to the API server. */
  readonly networking: NetworkingSettings
  /** How the operator recognises step results that it has written itself. */
  readonly steps: StepsSettings
  /** The state that the operator stores on objects. */
  readonly persistence: PersistenceSettings
}
