/** The table of all settings: each with its default and its check. groups.ts documents their meaning. */
import { defaultMaxLifetime } from '../kube/peerings.ts'
import { AnnotationsDiffBaseStorage, type DiffBaseStorage } from '../persistence/diffbase-storage.ts'
import { type ProgressStorage, SmartProgressStorage } from '../persistence/progress-storage.ts'
import { dashboardDefaults, metricsDefaults } from '../serving/address.ts'
import { duration, flag, integer, type OptionCheck, oneOf, orNull, text } from '../util/option-checks.ts'
import { handlersSeconds } from '../util/stopping-times.ts'
import {
  backoffs,
  configurationName,
  durations,
  endpointAddress,
  fieldManagerName,
  finalizerName,
  objectName,
  objectWith,
  selectorMap,
  signingKeys,
  webhookServer,
} from './checks.ts'
import type { ForeignRegistry, Settings } from './groups.ts'
import { SelectorMap } from './selector-map.ts'

export interface SettingSpec<V> {
  readonly check: OptionCheck<V>
  /** Returns a new value at each call: two operators never share a storage or a map. */
  readonly byDefault: () => V
}

export type SettingSpecs = {
  readonly [G in keyof Settings]: { readonly [K in keyof Settings[G]]: SettingSpec<Settings[G][K]> }
}

function setting<V>(check: OptionCheck<V>, byDefault: NoInfer<V> | (() => NoInfer<V>)): SettingSpec<V> {
  return { check, byDefault: typeof byDefault === 'function' ? (byDefault as () => V) : () => byDefault }
}

const anyInteger = integer(Number.MIN_SAFE_INTEGER)
const fibonacci = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610]
const emptyMap = () => new SelectorMap()

export const settingSpecs: SettingSpecs = {
  process: {
    guard: setting(flag, true),
    blockedExitTimeout: setting(orNull(duration), 5),
    ultimateExitingTimeout: setting(orNull(duration), 600),
    gracePeriod: setting(orNull(duration), null),
  },
  posting: {
    enabled: setting(flag, true),
    loggers: setting(flag, false),
    level: setting(oneOf('debug', 'info', 'warn', 'error'), 'info'),
    defaultBackoffs: setting(backoffs, () => fibonacci.slice(0, 8)),
    loggingBackoffs: setting(backoffs, () => fibonacci.slice(0, 5)),
    workerLimit: setting(orNull(integer(1)), null),
    reportingComponent: setting(text, 'kopf'),
    reportingInstance: setting(text, 'dev'),
    eventNamePrefix: setting(text, 'kopf-event-'),
  },
  tracing: {
    enabled: setting(flag, true),
  },
  logging: {
    frameworkLevel: setting(orNull(oneOf('debug', 'info', 'warn', 'error')), null),
  },
  journal: {
    enabled: setting(orNull(flag), null),
    entriesPerObject: setting(integer(1), 50),
    maxBytes: setting(integer(0), 10 * 1024 * 1024),
  },
  dashboard: {
    address: setting(orNull(endpointAddress(dashboardDefaults)), null),
    plainHttp: setting(flag, false),
    certFile: setting(orNull(text), null),
    keyFile: setting(orNull(text), null),
  },
  metrics: {
    address: setting(orNull(endpointAddress(metricsDefaults)), null),
    plainHttp: setting(flag, false),
    certFile: setting(orNull(text), null),
    keyFile: setting(orNull(text), null),
    registry: setting(orNull(objectWith<ForeignRegistry>('a registry of metrics', 'metrics')), null),
    namespaces: setting(flag, false),
  },
  peering: {
    name: setting(text, 'default'),
    stealth: setting(flag, false),
    priority: setting(anyInteger, 0),
    lifetime: setting(duration, 60),
    maxLifetime: setting(duration, defaultMaxLifetime),
    mandatory: setting(flag, false),
    standalone: setting(flag, false),
    clusterwide: setting(flag, false),
  },
  election: {
    enabled: setting(flag, false),
    name: setting(orNull(objectName), null),
    namespace: setting(orNull(objectName), null),
    leaseDuration: setting(duration, '15s'),
    renewDeadline: setting(duration, '10s'),
    retryPeriod: setting(duration, '2s'),
  },
  watching: {
    serverTimeout: setting(orNull(duration), null),
    clientTimeout: setting(orNull(duration), null),
    connectTimeout: setting(orNull(duration), null),
    reconnectBackoff: setting(duration, 0.1),
    inactivityTimeout: setting(duration, 70),
    chunkSize: setting(orNull(integer(0)), 500),
    initialStreaming: setting(flag, true),
    maxObjectBytes: setting(orNull(integer(16_384)), 3 * 1024 * 1024),
    labelSelectors: setting(selectorMap, emptyMap),
    fieldSelectors: setting(selectorMap, emptyMap),
    shardSelectors: setting(selectorMap, emptyMap),
  },
  queueing: {
    workerLimit: setting(orNull(integer(1)), 64),
    slowAfter: setting(orNull(duration), '5s'),
    slowWorkerLimit: setting(orNull(integer(1)), 512),
    exitTimeout: setting(duration, handlersSeconds),
    errorDelays: setting(durations, () => [...fibonacci]),
  },
  scanning: {
    disabled: setting(flag, false),
  },
  admission: {
    server: setting(orNull(webhookServer), null),
    managed: setting(orNull(configurationName), null),
  },
  execution: {
    defaultBackoff: setting(duration, 60),
    maxWorkers: setting(orNull(integer(1)), null),
  },
  background: {
    cancellationPolling: setting(duration, 60),
    instantExitTimeout: setting(orNull(duration), null),
    instantExitZeroTimeCycles: setting(orNull(integer(0)), 10),
  },
  reconciling: {
    fieldManager: setting(orNull(fieldManagerName), null),
  },
  networking: {
    requestTimeout: setting(orNull(duration), 300),
    connectTimeout: setting(orNull(duration), null),
    errorBackoffs: setting(backoffs, () => fibonacci.slice(0, 8)),
    enforceRetryAfter: setting(flag, false),
    trustEnv: setting(flag, false),
  },
  steps: {
    signing: setting(oneOf('required', 'preferred', 'off'), 'preferred'),
    keys: setting(signingKeys, () => []),
    secret: setting(orNull(objectName), null),
  },
  persistence: {
    finalizer: setting(finalizerName, 'kopf.zalando.org/KopfFinalizerMarker'),
    progressStorage: setting(
      objectWith<ProgressStorage>('a progress storage', 'fetch', 'store', 'purge', 'touch', 'clear'),
      () => new SmartProgressStorage(),
    ),
    diffbaseStorage: setting(
      objectWith<DiffBaseStorage>('a diff-base storage', 'build', 'fetch', 'store'),
      () => new AnnotationsDiffBaseStorage(),
    ),
    secretValues: setting(oneOf('digest', 'plain'), 'digest'),
    consistencyTimeout: setting(duration, 5),
  },
}

/** Settings of Kopf that do not exist here, with the reason and the alternative. Setting one is an error. */
export const refusedSettings: { readonly [path: string]: string } = {
  'posting.idleTimeout': 'there is no worker per object that could be idle; remove it',
  'queueing.idleTimeout': 'workers end as soon as nothing is left to do for their object; remove it',
  'queueing.batchWindow': 'events are not collected over time: the newest state is handled at once; remove it',
  'execution.executor':
    'handlers run on the event loop; to run one in a thread, wrap it with inWorker() and set execution.maxWorkers',
  'peering.namespaced': 'it is the opposite of peering.clusterwide; set that instead',
}
