/**
 * The groups of settings that users can change, in Kopf's order, each knob with its default and its meaning.
 * Types only: the defaults themselves are in settings-knobs.ts, the cluster-facing groups in settings-cluster.ts.
 */
import type { Duration } from '../util/duration.ts'
import type { FrameworkLevel } from '../util/log.ts'
import type { DiffBaseStorage } from './persistence/diffbase-storage.ts'
import type { ProgressStorage } from './persistence/progress-storage.ts'
import type { Backoffs } from './settings-checks.ts'
import type { WebhookServerLike } from './webhook-server.ts'

type PostingLevel = 'debug' | 'info' | 'warn' | 'error'

/** The process of `kopf run`. */
export interface ProcessSettings {
  /**
   * Whether a thread watches the event loop, in `kopf run` and `operator.run()`: it names the handler that blocks the
   * loop, and sees signals meanwhile. Default: true.
   */
  guard: boolean
  /**
   * How long a stop waits for a handler that blocks the event loop before `kopf run` ends unfinished, with exit code 1;
   * null for ever. Default: 5.
   */
  blockedExitTimeout: Duration | null
  /**
   * How long a graceful stop may take before the process ends unfinished, with exit code 1; null for ever. Default:
   * 600.
   */
  ultimateExitingTimeout: Duration | null
}

/** Kubernetes events about the objects handled. */
export interface PostingSettings {
  /** Whether events are posted at all. Default: true. */
  enabled: boolean
  /** Whether log lines about an object become events of it. Default: false. */
  loggers: boolean
  /** The least level that becomes an event: `debug`, `info`, `warn` or `error`. Default: "info". */
  level: PostingLevel
  /** The waits between attempts to post what `recorder` was told. Default: 1, 1, 2, 3, 5, 8, 13, 21. */
  defaultBackoffs: Backoffs
  /** The waits between attempts to post what came from a log line. Default: 1, 1, 2, 3, 5. */
  loggingBackoffs: Backoffs
  /** How many objects can have their events posted at the same time; null for a bound of our own. Default: null. */
  workerLimit: number | null
  /** Accepted, and without effect: posters go home at once. Default: 1. */
  idleTimeout: Duration
  /** `reportingComponent` of the events. Default: "kopf". */
  reportingComponent: string
  /** `reportingInstance` of the events. Default: "dev". */
  reportingInstance: string
  /** `metadata.generateName` of the events. Default: "kopf-event-". */
  eventNamePrefix: string
}

/** The operator's log. `configureLogging` and the options of `kopf run` say where it goes and how lines look. */
export interface LoggingSettings {
  /**
   * The least level of the framework's own lines, as "Handler … succeeded.": `debug`, `info`, `warn` or `error`. Lines
   * that handlers write through `logger` are not concerned. A line that is left out is not posted as an event, either.
   * Null for the same level as those. Default: null.
   */
  frameworkLevel: FrameworkLevel | null
}

/** Arrangements with other operators on the same objects. */
export interface PeeringSettings {
  /** The name of the peering; operators of different peerings do not see each other. Default: "default". */
  name: string
  /** Whether keep-alives stay out of the log. Default: false. */
  stealth: boolean
  /** Who gives way to whom: operators pause while one of a higher (or the same) priority runs. Default: 0. */
  priority: number
  /** How long others believe our last sign of life. Default: 60. */
  lifetime: Duration
  /**
   * How long the last sign of life of another operator is believed at most, also if its record asks for a longer lifetime; also the
   * longest pause by `kopf freeze`. Default: "24h".
   */
  maxLifetime: Duration
  /** Whether to be paused as long as there is no peering object. Default: false. */
  mandatory: boolean
  /** Whether to run without peering even if the object is there. Default: false. */
  standalone: boolean
  /**
   * Whether the peering is one of the whole cluster; set at each start, as the scope of the operator is. Default:
   * false.
   */
  clusterwide: boolean
  /** The opposite of `clusterwide`: setting one sets the other. */
  namespaced: boolean
}

/** Several replicas of one operator, of which one works and the others stand by: by a Lease. */
export interface ElectionSettings {
  /** Whether a leader is elected; else every replica works. Default: false. */
  enabled: boolean
  /** The name of the Lease; null for the name of the operator. Default: null. */
  name: string | null
  /** The namespace of the Lease; null for the one where the operator runs. Default: null. */
  namespace: string | null
  /** How long stand-bys believe the last sign of life of a leader that is gone without a word. Default: "15s". */
  leaseDuration: Duration
  /** How long a leader goes on without a renewal: shorter, so that it has stopped before others begin. Default: "10s". */
  renewDeadline: Duration
  /** How often the leader renews the Lease, and the pause between attempts. Default: "2s". */
  retryPeriod: Duration
}

/** How events of objects are queued and worked on. */
export interface QueueingSettings {
  /**
   * How many objects are worked on at the same time, per operator; null for no limit. Namespaces take turns, and a quarter
   * of the workers is kept for namespaces that have less than their share.
   * Default: 64. (Kopf has no limit: a large cluster then starts with one burst of requests.)
   */
  workerLimit: number | null
  /**
   * How long a handler may take before its worker no longer counts against `workerLimit`, so that another object is worked on in its
   * place; null for never. Default: "5s".
   */
  slowAfter: Duration | null
  /**
   * How many workers with slow handlers there can be beside those that count, per operator; objects of one namespace can have half
   * of them; null for no limit. Default: 512.
   */
  slowWorkerLimit: number | null
  /** Accepted, and without effect: workers go home at once. Default: 5. */
  idleTimeout: Duration
  /**
   * How long handlers may go on with what they have begun when the operator stops. Default: 15, which fits into the 30 seconds that
   * Kubernetes grants a pod. (Kopf: 2.)
   */
  exitTimeout: Duration
  /**
   * How long an object is left alone after each unexpected error of the framework in a row; the last one repeats, an
   * empty list is for no pauses. Default: 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610.
   */
  errorDelays: Iterable<Duration>
  /** @deprecated Accepted and of no effect, as in Kopf: events are no longer gathered over time. Default: 0.1. */
  batchWindow: Duration
}

/** Looking for resources and namespaces that come and go. */
export interface ScanningSettings {
  /**
   * Whether definitions and namespaces are not observed: what is there at the start is served, in the namespaces
   * given by name. Default: false.
   */
  disabled: boolean
}

/** Admission webhooks. */
export interface AdmissionSettings {
  /**
   * What listens for requests of the API server, such as a `WebhookServer`; needed where there are handlers for them.
   * Default: null.
   */
  server: WebhookServerLike | null
  /**
   * The name of the webhook configurations to keep up to date, with a dot in it; null to leave that to others.
   * Default: null.
   */
  managed: string | null
}

/** How handlers are called. */
export interface ExecutionSettings {
  /** How long to wait after an arbitrary error of a handler that has no `backoff` of its own. Default: 60. */
  defaultBackoff: Duration
  /** Accepted and of no effect: threads are for handlers made by `inWorker`, and there is one kind of them. Default: null. */
  executor: object | null
  /** How many threads there can be for handlers made by `inWorker`; null for as many as there are cores. Default: null. */
  maxWorkers: number | null
}

/** Daemons and timers. */
export interface BackgroundSettings {
  /**
   * How often the log says that a daemon without a `cancellationTimeout`, or the call of a timer, is still waited
   * for. Default: 60.
   */
  cancellationPolling: Duration
  /**
   * How long one may take to end before anything is said or done about it; null for `instantExitZeroTimeCycles`.
   * Default: null.
   */
  instantExitTimeout: Duration | null
  /** The same in turns of the event loop; null for none. Default: 10. */
  instantExitZeroTimeCycles: number | null
}

/** Children of objects that are reconciled. */
export interface ReconcilingSettings {
  /**
   * What the operator is called as the owner of the fields that it applies; null for the name of the operator, or "kopf" where
   * it has none. Must not change: fields under another name are not taken back. Default: null.
   */
  fieldManager: string | null
}

/** How the operator recognises results of steps that it has written itself. */
export interface StepsSettings {
  /**
   * Whether results are signed. "preferred": with a key in memory where there is no other, so that steps run again after a
   * restart. "required": no step runs without a key that outlives the process. "off": results are not signed, and everybody who
   * may edit an object can make them up. Default: "preferred".
   */
  signing: 'required' | 'preferred' | 'off'
  /**
   * The keys, as texts of at least 32 characters: the first one signs, all of them verify. Empty for those in the Secret.
   * Default: none.
   */
  keys: readonly string[]
  /**
   * The name of the Secret with the keys, in the namespace where the operator runs; null for the name of the operator with
   * "-steps" behind it, or "kopf-steps" where it has none. Default: null.
   */
  secret: string | null
}

/** What is kept on the objects. */
export interface PersistenceSettings {
  /**
   * Keeps objects from going before handlers of their deletion were called. Default:
   * "kopf.zalando.org/KopfFinalizerMarker".
   */
  finalizer: string
  /** Where the progress of handlers is kept. Default: `new SmartProgressStorage()`. */
  progressStorage: ProgressStorage
  /** Where the last handled state is kept. Default: `new AnnotationsDiffBaseStorage()`. */
  diffbaseStorage: DiffBaseStorage
  /**
   * How the values of Secrets are kept in the last handled state. "digest": as digests, and `old` has a `ConcealedValue` for each.
   * "plain": in clear, as Kopf does. What was stored in either way is understood by both. Default: "digest".
   */
  secretValues: 'digest' | 'plain'
  /**
   * Where versions of objects cannot be compared: how long to wait for our own last write to come back; 0 for not at
   * all. Default: 5.
   */
  consistencyTimeout: Duration
}
