/** Puts the run-wide collaborators together. Called once by run.ts, when everything they need is there. */
import type { Client } from '../client/client.ts'
import { createHandlerClock } from '../core/handling/handler-clock.ts'
import { KeyedQueue } from '../core/queueing/keyed-queue.ts'
import type { Settings } from '../core/settings.ts'
import { Indexer } from '../features/indexing/indexer.ts'
import type { Poster } from '../features/posting/poster.ts'
import { createRecorder } from '../features/posting/recorder.ts'
import { Kinship } from '../features/reconciling/kinship.ts'
import { toFieldManager } from '../features/reconciling/marks.ts'
import type { Resource } from '../kube/resources.ts'
import { formatResource } from '../kube/selectors.ts'
import { Alarms } from '../util/alarms.ts'
import { monotonicOf } from '../util/clock.ts'
import { toMs } from '../util/duration.ts'
import type { Logger } from '../util/log.ts'
import { once } from '../util/once.ts'
import { createBackground } from './background.ts'
import { Backlog } from './backlog.ts'
import { LargeObjects } from './large-objects.ts'
import type { Memory } from './memories.ts'
import { copyMemo } from './memos.ts'
import { processObject } from './process.ts'
import type { Blueprint } from './run-options.ts'
import type { Arrival, Runtime } from './runtime.ts'
import { StepKeys } from './step-keys.ts'
import { StepSecret, stepSecretName } from './step-secret.ts'
import type { Watchdog } from './watchdog.ts'

type Given =
  | 'lifecycle'
  | 'session'
  | 'clock'
  | 'sink'
  | 'logger'
  | 'workers'
  | 'indices'
  | 'pause'
  | 'signal'
  | 'writing'
  | 'stopping'
  | 'standing'
  | 'observer'

export interface RuntimeParts extends Pick<Runtime, Given> {
  readonly blueprint: Blueprint
  readonly poster: Poster
  readonly watchdog: Watchdog
  /** Whether handlers of objects may be called: the indices are complete, and this replica leads. */
  readonly mayWork: () => boolean
  readonly clientIn: (namespace: string | undefined) => Client
  /** Where the operator runs. */
  readonly namespace: string | undefined
  /** Objects come from one namespace only: it can have all workers. */
  readonly isOneNamespace: boolean
}

const mostWaitingEvents = 1024

export function createRuntime(parts: RuntimeParts): Runtime {
  const { blueprint, poster, watchdog, mayWork, clientIn, namespace, isOneNamespace, ...given } = parts
  const { name, registry, settings, memo } = blueprint
  const { clock, stopping, observer } = given
  const background = once(() => createBackground(runtime, watchdog))
  const runtime: Runtime = {
    ...given,
    settings,
    handlerClock: createHandlerClock(clock, { isWaitedFor: true }),
    daemonClock: createHandlerClock(clock, { isWaitedFor: false }),
    random: Math.random,
    watchOf: (memory) =>
      watchdog.watchOf({ yield: () => runtime.queue.excuse(memory), afterMs: slowAfterMs(settings) }),
    queue: new KeyedQueue<Memory, Arrival>((memory, arrivals) => processObject(runtime, memory, arrivals), {
      limit: () => (mayWork() ? (settings.queueing.workerLimit ?? Infinity) : 0),
      slowLimit: () => settings.queueing.slowWorkerLimit ?? Infinity,
      // Objects without a namespace are a group of their own.
      ...(isOneNamespace ? {} : { groupOf: ({ body }) => body.metadata.namespace ?? '' }),
      capacity: mostWaitingEvents,
      isDispensable: ({ type }) => type === 'seen',
      supersedes,
      now: () => monotonicOf(clock),
    }),
    alarms: new Alarms<Memory>(clock, (memory) => runtime.queue.put(memory, { type: 'wake' }), stopping),
    backlog: observer && new Backlog(observer),
    get background() {
      return background()
    },
    large: new LargeObjects(settings),
    indexer: new Indexer({
      tables: registry.indexTables,
      clock,
      execution: settings.execution,
      signal: given.signal,
    }),
    kinship: new Kinship(name),
    stepKeys: createStepKeys(blueprint, given, namespace),
    fieldManager: settings.reconciling.fieldManager ?? toFieldManager(name),
    clientIn: oneForEach(clientIn),
    recorderOf: (body) => createRecorder({ poster, settings: settings.posting }, body),
    makeMemo: () => copyMemo(memo),
    warnOnce: warnOnce(given.logger),
  }
  return runtime
}

function createStepKeys(
  { name, settings }: Blueprint,
  { session, clock, logger, writing }: Pick<Runtime, Given>,
  namespace: string | undefined,
): StepKeys {
  const place = {
    // As the start-up handlers have left the settings.
    name: settings.steps.secret ?? stepSecretName(name),
    namespace: namespace ?? 'default',
  }
  return new StepKeys({ settings: settings.steps, secret: new StepSecret(session, place, writing), clock, logger })
}

/** Of states that nobody spies on, only the last one matters; being woken twice is being woken once. */
function supersedes(next: Arrival, waiting: Arrival): boolean {
  if (next.type === 'wake') return waiting.type === 'wake'
  return next.type === 'seen' && waiting.type === 'seen' && !next.isSpied
}

function slowAfterMs({ queueing }: Settings): number {
  return queueing.slowAfter === null ? Infinity : toMs(queueing.slowAfter, 'queueing.slowAfter')
}

/** The daemons of thousands of objects keep their client: one for each namespace is enough. */
function oneForEach<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>()
  return (key) => {
    const value = made.get(key) ?? make(key)
    made.set(key, value)
    return value
  }
}

function warnOnce(logger: Logger): Runtime['warnOnce'] {
  const warned = new Set<string>()
  return (resource: Resource, topic: string, message: string) => {
    const key = `${formatResource(resource)}/${topic}`
    if (!warned.has(key)) logger.warn(`${message} (${formatResource(resource)})`)
    warned.add(key)
  }
}
