/** Every setting with its default and its check: the one table. What they mean is said in settings-groups.ts and -cluster.ts. */
import { defaultMaxLifetime } from '../kube/peerings.ts'
import { handlersSeconds } from '../util/stopping-times.ts'
import { AnnotationsDiffBaseStorage, type DiffBaseStorage } from './persistence/diffbase-storage.ts'
import { type ProgressStorage, SmartProgressStorage } from './persistence/progress-storage.ts'
import {
  anyObject,
  backoffs,
  type Check,
  configurationName,
  duration,
  durations,
  fieldManagerName,
  finalizerName,
  flag,
  integer,
  objectName,
  objectWith,
  oneOf,
  orNull,
  selectorMap,
  signingKeys,
  text,
  webhookServer,
} from './settings-checks.ts'
import type { NetworkingSettings, WatchingSettings } from './settings-cluster.ts'
import type {
  AdmissionSettings,
  BackgroundSettings,
  ElectionSettings,
  ExecutionSettings,
  LoggingSettings,
  PeeringSettings,
  PersistenceSettings,
  PostingSettings,
  ProcessSettings,
  QueueingSettings,
  ReconcilingSettings,
  ScanningSettings,
  StepsSettings,
} from './settings-groups.ts'
import { SelectorMap } from './settings-selectors.ts'

/** Everything an operator can be told about how to do its work; see each group. */
export interface Settings {
  readonly process: ProcessSettings
  readonly posting: PostingSettings
  readonly logging: LoggingSettings
  readonly peering: PeeringSettings
  readonly election: ElectionSettings
  readonly watching: WatchingSettings
  readonly queueing: QueueingSettings
  readonly scanning: ScanningSettings
  readonly admission: AdmissionSettings
  readonly execution: ExecutionSettings
  readonly background: BackgroundSettings
  readonly reconciling: ReconcilingSettings
  readonly networking: NetworkingSettings
  readonly steps: StepsSettings
  readonly persistence: PersistenceSettings
}

export interface Knob<V> {
  readonly check: Check<V>
  /** A new one each time: no two operators share a storage or a map. */
  readonly byDefault: () => V
}

export type Knobs = { readonly [G in keyof Settings]: { readonly [K in keyof Settings[G]]: Knob<Settings[G][K]> } }

function knob<V>(check: Check<V>, byDefault: NoInfer<V> | (() => NoInfer<V>)): Knob<V> {
  return { check, byDefault: typeof byDefault === 'function' ? (byDefault as () => V) : () => byDefault }
}

const anyInteger = integer(Number.MIN_SAFE_INTEGER)
const fibonacci = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610]
const emptyMap = () => new SelectorMap()

export const knobs: Knobs = {
  process: {
    guard: knob(flag, true),
    blockedExitTimeout: knob(orNull(duration), 5),
    ultimateExitingTimeout: knob(orNull(duration), 600),
  },
  posting: {
    enabled: knob(flag, true),
    loggers: knob(flag, false),
    level: knob(oneOf('debug', 'info', 'warn', 'error'), 'info'),
    defaultBackoffs: knob(backoffs, () => fibonacci.slice(0, 8)),
    loggingBackoffs: knob(backoffs, () => fibonacci.slice(0, 5)),
    workerLimit: knob(orNull(integer(1)), null),
    idleTimeout: knob(duration, 1),
    reportingComponent: knob(text, 'kopf'),
    reportingInstance: knob(text, 'dev'),
    eventNamePrefix: knob(text, 'kopf-event-'),
  },
  logging: {
    frameworkLevel: knob(orNull(oneOf('debug', 'info', 'warn', 'error')), null),
  },
  peering: {
    name: knob(text, 'default'),
    stealth: knob(flag, false),
    priority: knob(anyInteger, 0),
    lifetime: knob(duration, 60),
    maxLifetime: knob(duration, defaultMaxLifetime),
    mandatory: knob(flag, false),
    standalone: knob(flag, false),
    clusterwide: knob(flag, false),
    namespaced: knob(flag, true),
  },
  election: {
    enabled: knob(flag, false),
    name: knob(orNull(objectName), null),
    namespace: knob(orNull(objectName), null),
    leaseDuration: knob(duration, '15s'),
    renewDeadline: knob(duration, '10s'),
    retryPeriod: knob(duration, '2s'),
  },
  watching: {
    serverTimeout: knob(orNull(duration), null),
    clientTimeout: knob(orNull(duration), null),
    connectTimeout: knob(orNull(duration), null),
    reconnectBackoff: knob(duration, 0.1),
    inactivityTimeout: knob(duration, 70),
    chunkSize: knob(orNull(integer(0)), 500),
    initialStreaming: knob(flag, true),
    maxObjectBytes: knob(orNull(integer(16_384)), 3 * 1024 * 1024),
    labelSelectors: knob(selectorMap, emptyMap),
    fieldSelectors: knob(selectorMap, emptyMap),
    shardSelectors: knob(selectorMap, emptyMap),
  },
  queueing: {
    workerLimit: knob(orNull(integer(1)), 64),
    slowAfter: knob(orNull(duration), '5s'),
    slowWorkerLimit: knob(orNull(integer(1)), 512),
    idleTimeout: knob(duration, 5),
    exitTimeout: knob(duration, handlersSeconds),
    errorDelays: knob(durations, () => [...fibonacci]),
    batchWindow: knob(duration, 0.1),
  },
  scanning: {
    disabled: knob(flag, false),
  },
  admission: {
    server: knob(orNull(webhookServer), null),
    managed: knob(orNull(configurationName), null),
  },
  execution: {
    defaultBackoff: knob(duration, 60),
    executor: knob(orNull(anyObject), null),
    maxWorkers: knob(orNull(integer(1)), null),
  },
  background: {
    cancellationPolling: knob(duration, 60),
    instantExitTimeout: knob(orNull(duration), null),
    instantExitZeroTimeCycles: knob(orNull(integer(0)), 10),
  },
  reconciling: {
    fieldManager: knob(orNull(fieldManagerName), null),
  },
  networking: {
    requestTimeout: knob(orNull(duration), 300),
    connectTimeout: knob(orNull(duration), null),
    errorBackoffs: knob(backoffs, () => fibonacci.slice(0, 8)),
    enforceRetryAfter: knob(flag, false),
    trustEnv: knob(flag, false),
  },
  steps: {
    signing: knob(oneOf('required', 'preferred', 'off'), 'preferred'),
    keys: knob(signingKeys, () => []),
    secret: knob(orNull(objectName), null),
  },
  persistence: {
    finalizer: knob(finalizerName, 'kopf.zalando.org/KopfFinalizerMarker'),
    progressStorage: knob(
      objectWith<ProgressStorage>('a progress storage', 'fetch', 'store', 'purge', 'touch', 'clear'),
      () => new SmartProgressStorage(),
    ),
    diffbaseStorage: knob(
      objectWith<DiffBaseStorage>('a diff-base storage', 'build', 'fetch', 'store'),
      () => new AnnotationsDiffBaseStorage(),
    ),
    secretValues: knob(oneOf('digest', 'plain'), 'digest'),
    consistencyTimeout: knob(duration, 5),
  },
}
