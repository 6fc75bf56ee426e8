/**
 * Builds the parts of an operator run in dependency order. `createBase` builds the parts that startup handlers need: log, clock, credentials, sessions, leader
 * election. `assemble` builds the parts that need a connection and the final settings: queue, features, streams, webhooks, peerings. This file starts
 * nothing: run.ts starts the parts, and shutdown.ts stops them.
 */

import { availableParallelism } from 'node:os'
import { Activities } from '../activities/activities.ts'
import { createLogin } from '../activities/login.ts'
import { AdmissionService } from '../admission/admission.ts'
import { createReview } from '../admission/create-review.ts'
import { AuthenticatedTransport } from '../client/auth/authenticated-transport.ts'
import { type Client, createClient } from '../client/client.ts'
import { readClusterFlavour } from '../client/cluster-flavour.ts'
import { DiscoveryCache } from '../client/discovery/discovery-cache.ts'
import { createIdentity } from '../client/identity.ts'
import type { Session } from '../client/session.ts'
import { Orchestrator } from '../cluster/orchestrator.ts'
import type { DaemonPool } from '../daemons/daemon-pool.ts'
import { ObjectDaemons } from '../daemons/object-daemons.ts'
import { Leadership } from '../election/leadership.ts'
import { createHandlerClock } from '../handlers/args/handler-clock.ts'
import { copyMemo } from '../handlers/args/memos.ts'
import type { Lifecycle } from '../handlers/lifecycles.ts'
import type { Registry } from '../handlers/registry.ts'
import { Watchdog } from '../handlers/watchdog.ts'
import { Health } from '../health/health.ts'
import { Indexer } from '../indexing/indexer.ts'
import { ObjectIndexing } from '../indexing/object-indexing.ts'
import { isExactNamespace } from '../kube/namespaces.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { UserMetrics } from '../metrics/user-metrics.ts'
import { CatchUp } from '../objects/catch-up.ts'
import { type Context, type ObjectEvent, observedObject } from '../objects/context.ts'
import { ObjectFeatures } from '../objects/features.ts'
import { LargeObjects } from '../objects/large-objects.ts'
import { ServedResources } from '../objects/state/served-resource.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { processObject } from '../objects/worker.ts'
import type { Observer } from '../observer.ts'
import { applyPeering, Peerings, pauseObjects, peeringSelectors } from '../peering/peerings.ts'
import { createPostingSink } from '../posting/log-events.ts'
import { createPoster, type Poster } from '../posting/poster.ts'
import { createRecorder } from '../posting/recorder.ts'
import { KeyedQueue } from '../queueing/keyed-queue.ts'
import { toFieldManager } from '../reconciling/children/labels.ts'
import type { ReconcilingContext } from '../reconciling/context.ts'
import { ObjectReconcilers } from '../reconciling/object-reconcilers.ts'
import { ChildrenIndex } from '../reconciling/sources/children-index.ts'
import type { Settings } from '../settings/settings.ts'
import { StepKeys } from '../steps/step-keys.ts'
import { StepSecret, stepSecretName } from '../steps/step-secret.ts'
import { OperatorTracing } from '../tracing/operator-tracing.ts'
import { type Clock, monotonicNow, systemClock } from '../util/async/clock.ts'
import { Latch } from '../util/async/latch.ts'
import type { TaskGroup } from '../util/async/task-group.ts'
import { TimerQueue } from '../util/async/timer-queue.ts'
import { lazy } from '../util/lazy.ts'
import {
  checkFrameworkLevel,
  createLogger,
  defaultLogSink,
  type Logger,
  type LogSink,
  type LogTap,
  limitFrameworkLines,
  tapSink,
  toLogSink,
} from '../util/log/log.ts'
import { toMs } from '../util/text/duration.ts'
import type { Tracing } from '../util/tracing/spans.ts'
import { Pause } from '../watching/pause.ts'
import { WorkerPool } from '../workers/pool.ts'
import { Observers } from './observers.ts'
import type { RunOptions } from './options.ts'
import { createOperatorSessions, type OperatorSessions } from './sessions.ts'

/** The signals that end the parts of a run, in the order in which they are aborted. */
export interface Lifetimes {
  /** Streams and other background work. Its signal is aborted when the operator starts to stop. */
  readonly tasks: TaskGroup
  /** Aborted when the time for running handlers is over. */
  readonly handlers: AbortController
  /** Aborted when the time for the last writes is over. */
  readonly writes: AbortController
  /** Aborted last, after the cleanup handlers, which may still send requests. */
  readonly end: AbortController
}

/** The parts of the `Operator` that a run needs. */
export interface OperatorDefinition {
  readonly name: string | undefined
  readonly registry: Registry
  readonly settings: Settings
  readonly lifecycle: Lifecycle
  readonly memo: object
  readonly metrics: UserMetrics
}

export interface BaseOptions {
  readonly definition: OperatorDefinition
  readonly options: RunOptions
  readonly lifetimes: Lifetimes
  /** The signal for work that also ends when the user aborts the start. */
  readonly starting: AbortSignal
  /** Called when this replica cannot become the leader, or has lost the Lease. */
  readonly onLeadershipLost: (error: unknown) => void
  /** Called when the credentials are rejected and there are no others. */
  readonly onLockedOut: (error: unknown) => void
}

/** The parts of a run that exist before the startup handlers are called. */
export interface Base {
  readonly clock: Clock
  readonly sink: LogSink
  /** The dashboard shows the log lines of objects. */
  readonly logTap: LogTap
  readonly logger: Logger
  readonly observers: Observers
  readonly observer: Observer
  readonly tracing: Tracing
  readonly watchdog: Watchdog
  readonly pause: Pause
  readonly health: Health
  readonly workers: WorkerPool
  readonly activities: Activities
  readonly transport: AuthenticatedTransport
  /** The identity of the operator in peerings and leases; determined on first use. */
  readonly identity: () => Promise<string>
  readonly leadership: Leadership
  readonly sessions: OperatorSessions
  readonly discovery: DiscoveryCache
}

export function createBase({
  definition,
  options,
  lifetimes,
  starting,
  onLeadershipLost,
  onLockedOut,
}: BaseOptions): Base {
  const { name, settings, registry } = definition
  const { tasks, end } = lifetimes
  const clock = options.clock ?? systemClock
  const logTap: LogTap = { listener: undefined }
  const sink = tapSink(createSink(settings, options), logTap)
  const logger = createLogger(sink, 'kopf.operator')
  const observers = new Observers(logger)
  if (options.observer !== undefined) observers.add(options.observer)
  const observer = observers.all
  const tracing = new OperatorTracing({
    settings: settings.tracing,
    logger,
    server: () => transport.info?.server,
  })
  const watchdog = new Watchdog({ clock, observer, signal: end.signal })
  const pause = new Pause()
  const health = new Health(clock, { lagMs: () => watchdog.lagMs, pause })
  observers.add(health.listener)
  const workers = new WorkerPool({
    clock,
    limit: () => settings.execution.maxWorkers ?? availableParallelism(),
    load: options.loadWorkerModule,
  })
  applyPeering(settings.peering, options)
  const { indices } = registry
  const activities = new Activities({
    definition,
    clock,
    sink,
    watchdog,
    indices,
    metrics: definition.metrics,
    workers,
    observer,
    tracing,
    client: () => createOperatorClient(discovery, sessions.common, { namespace: undefined, signal: end.signal }),
  })
  const transport: AuthenticatedTransport = new AuthenticatedTransport({
    transport: options.transport,
    login: createLogin(options.connection, activities),
    networking: settings.networking,
    health,
    clock,
    logger: createLogger(sink, 'kopf.activities.authentication'),
    starting,
    stopping: tasks.signal,
    onLost: onLockedOut,
  })
  const identity = lazy(async () => options.identity ?? createIdentity(clock.now(), Math.random))
  const leadership = new Leadership({
    name,
    settings,
    identity,
    session: () => sessions.common,
    clock,
    logger,
    observer,
    onFailure: onLeadershipLost,
  })
  const sessions: OperatorSessions = createOperatorSessions(leadership, {
    connection: transport,
    logger,
    networking: settings.networking,
    clock,
    observer,
    tracing,
    signal: end.signal,
  })
  const selectors = [...registry.selectors(), ...peeringSelectors(settings.peering)]
  const discovery: DiscoveryCache = new DiscoveryCache(() => sessions.leading, selectors)
  return {
    clock,
    sink,
    logTap,
    logger,
    observers,
    observer,
    tracing,
    watchdog,
    pause,
    health,
    workers,
    activities,
    transport,
    identity,
    leadership,
    sessions,
    discovery,
  }
}

function createSink(settings: Settings, options: RunOptions): LogSink {
  const frameworkLogLevel = checkFrameworkLevel(options.frameworkLogLevel, 'frameworkLogLevel')
  return limitFrameworkLines(
    toLogSink(options.logging ?? defaultLogSink()),
    () => frameworkLogLevel ?? settings.logging.frameworkLevel ?? undefined,
  )
}

function createOperatorClient(
  discovery: DiscoveryCache,
  session: Session,
  { namespace, signal }: { readonly namespace: string | undefined; readonly signal: AbortSignal },
): Client {
  return createClient({ session, resolve: (like) => discovery.resolve(like), namespace, signal })
}

/** The parts of a run that handle objects and reviews. */
export interface Assembly {
  readonly context: Context
  readonly reconciling: ReconcilingContext
  readonly poster: Poster
  readonly daemons: DaemonPool<WatchedObject>
  readonly orchestrator: Orchestrator
  readonly admission: AdmissionService
  readonly peerings: Peerings
}

export interface AssembleOptions {
  readonly definition: OperatorDefinition
  readonly options: RunOptions
  readonly lifetimes: Lifetimes
  readonly onFailure: (error: unknown) => void
}

/** Called after the startup handlers, which may change the settings, and after the login. */
export function assemble(base: Base, { definition, options, lifetimes, onFailure }: AssembleOptions): Assembly {
  const { registry, settings } = definition
  const { watchdog, health, pause, leadership, identity, discovery, observers } = base
  const { tasks, end } = lifetimes
  const { defaultNamespace: namespace } = base.transport
  const poster = createPoster({
    session: base.sessions.leading,
    clock: base.clock,
    settings: settings.posting,
    logger: base.logger,
    observer: base.observer,
    defaultNamespace: () => base.transport.defaultNamespace,
  })
  // Opens when the indices are complete: no handler is called before.
  const indicesComplete = new Latch()
  if (registry.indexTables.size === 0) indicesComplete.open()
  const mayWork = () => indicesComplete.isOpen && leadership.isLeading
  const context = createContext(base, { definition, options, lifetimes, poster, mayWork })
  const reconciling = createReconcilingContext(context, definition)
  const daemons = new ObjectDaemons(context, watchdog)
  const indexer = new Indexer({
    tables: registry.indexTables,
    clock: base.clock,
    execution: settings.execution,
    signal: lifetimes.handlers.signal,
  })
  // Features are called in this order: indexing comes first, so that daemons and reconcilers find the object in the indices.
  for (const feature of [new ObjectIndexing(context, indexer), daemons, new ObjectReconcilers(reconciling)]) {
    context.features.add(feature)
  }
  health.observeQueue(context.queue)
  const [discovered, indexed] = [new Latch(), new Latch()]
  const orchestrator: Orchestrator = new Orchestrator(context, {
    registry,
    discovery,
    scope: { namespaces: options.clusterwide ? undefined : options.namespaces },
    tasks,
    health,
    reconciling,
    onDiscovered: () => {
      discovered.open()
      admission.refresh()
      peerings.discovered()
    },
    onNamespaces: () => peerings.refresh(),
    onIndexed: () => {
      indicesComplete.open()
      indexed.open()
      context.queue.recheckLimit()
    },
  })
  const review = createReview(context, { registry, discovery, watchdog, discovered, indexed })
  const admission: AdmissionService = new AdmissionService(context, {
    registry,
    discovery,
    namespace,
    review,
    readSigns: () => readClusterFlavour(base.sessions.leading, base.transport.info, end.signal),
    onFailure,
  })
  const peerings: Peerings = new Peerings(context, {
    discovery,
    identity,
    namespaces: () => orchestrator.namespaces,
    onPausedIn: (name) => orchestrator.stopAwaiting(name),
    onFailure,
  })
  pause.onChange((name) => {
    const isPaused = pause.isPausedIn(name)
    if (isPaused) pauseObjects(context, name)
    else health.resumed(name)
    base.observer.peeringChanged?.({ namespace: name, isPaused })
  })
  observers.add({
    leadershipChanged: ({ state }) => {
      if (state !== 'leading') return
      // The peering is refreshed first, since it may pause the operator.
      peerings.refresh()
      if (context.catchUp !== undefined) findAll(context, context.catchUp)
      context.queue.recheckLimit()
    },
  })
  // A paused operator may not complete its indices for a long time: admission reviews then use the incomplete indices.
  void peerings.paused.then(() => indexed.open())
  return { context, reconciling, poster, daemons: daemons.pool, orchestrator, admission, peerings }
}

/** A candidate that becomes the leader reports all objects that it has listed so far as found. */
function findAll({ served }: Context, catchUp: CatchUp): void {
  for (const object of served.objects()) if (!object.served.isOnlyIndexed) catchUp.found(object)
}

/** The maximum number of events of one object that wait in the queue for event handlers. */
const maxWaitingEvents = 1024

interface ContextOptions {
  readonly definition: OperatorDefinition
  readonly options: RunOptions
  readonly lifetimes: Lifetimes
  readonly poster: Poster
  /** Whether handlers may be called: the indices are complete, and this replica is the leader. */
  readonly mayWork: () => boolean
}

function createContext(base: Base, { definition, options, lifetimes, poster, mayWork }: ContextOptions): Context {
  const { registry, settings, memo, metrics } = definition
  const { clock, logger, observer, watchdog, leadership, discovery, sessions } = base
  const session = sessions.leading
  const features = new ObjectFeatures()
  const writesSignal = lifetimes.writes.signal
  const stopping = lifetimes.tasks.signal
  const listensToCatchUp = observer.objectFound !== undefined || observer.objectHandled !== undefined
  const queue: Context['queue'] = new KeyedQueue<WatchedObject, ObjectEvent>(
    (object, events, wait) => processObject(context, object, events, wait),
    {
      limit: () => (mayWork() ? (settings.queueing.workerLimit ?? Infinity) : 0),
      slowLimit: () => settings.queueing.slowWorkerLimit ?? Infinity,
      // Workers are shared fairly among namespaces; cluster-scoped objects form one group.
      ...(isOneNamespace(options) ? {} : { groupOf: ({ body }) => body.metadata.namespace ?? '' }),
      capacity: maxWaitingEvents,
      isDispensable: ({ type }) => type === 'seen',
      supersedes,
      now: () => monotonicNow(clock),
      onWait: (object, event, priority) =>
        observer.workQueued?.({ object: observedObject(object), priority, isRetry: event.type === 'wake' }),
      onDrop: (object, priority) => observer.workDropped?.({ object: observedObject(object), priority }),
    },
  )
  const context: Context = {
    session,
    settings,
    clock,
    random: Math.random,
    sink: createPostingSink(base.sink, { poster, settings: settings.posting }),
    logger,
    lifecycle: options.lifecycle ?? definition.lifecycle,
    callWatchOf: (object) => watchdog.watchOf({ yield: () => queue.markSlow(object), afterMs: slowAfterMs(settings) }),
    queue,
    timers: new TimerQueue<WatchedObject>(clock, (object) => queue.put(object, { type: 'wake' }), stopping),
    observer,
    tracing: base.tracing,
    catchUp: listensToCatchUp ? new CatchUp(observer, features) : undefined,
    features,
    served: new ServedResources(),
    callOutcomes: new Map(),
    pause: base.pause,
    leadership,
    stopping,
    handlersSignal: lifetimes.handlers.signal,
    writesSignal,
    clientFor: memoizeByKey((namespace) =>
      createOperatorClient(discovery, session, { namespace, signal: writesSignal }),
    ),
    recorderFor: (body) => createRecorder({ poster, settings: settings.posting }, body),
    createMemo: () => copyMemo(memo),
    indices: registry.indices,
    metrics,
    handlerClock: createHandlerClock(clock, { isWaitedFor: true }),
    daemonClock: createHandlerClock(clock, { isWaitedFor: false }),
    workers: base.workers,
    stepKeys: createStepKeys(base, definition, writesSignal),
    largeObjects: new LargeObjects(settings),
    warnOnce: warnOnce(logger),
  }
  return context
}

function createReconcilingContext(context: Context, { name, settings }: OperatorDefinition): ReconcilingContext {
  return {
    ...context,
    childrenIndex: new ChildrenIndex(name, context.served),
    fieldManager: settings.reconciling.fieldManager ?? toFieldManager(name),
  }
}

function createStepKeys(base: Base, { name, settings }: OperatorDefinition, signal: AbortSignal): StepKeys {
  const place = {
    name: settings.steps.secret ?? stepSecretName(name),
    namespace: base.transport.defaultNamespace ?? 'default',
  }
  const secret = new StepSecret(base.sessions.leading, place, signal)
  return new StepKeys({ settings: settings.steps, secret, clock: base.clock, logger: base.logger })
}

/** Whether a new event replaces a waiting one: a later state replaces an earlier one unless event handlers see every state; wake-ups are merged. */
function supersedes(next: ObjectEvent, waiting: ObjectEvent): boolean {
  if (next.type === 'wake') return waiting.type === 'wake'
  return next.type === 'seen' && waiting.type === 'seen' && !next.isKept
}

function slowAfterMs({ queueing }: Settings): number {
  return queueing.slowAfter === null ? Infinity : toMs(queueing.slowAfter, 'queueing.slowAfter')
}

/** Whether the operator serves a single namespace: then sharing workers among namespaces is not needed. */
function isOneNamespace({ clusterwide, namespaces }: RunOptions): boolean {
  return !clusterwide && namespaces?.length === 1 && isExactNamespace(namespaces[0]!)
}

/** Creates one value per key. Used for clients: the daemons of thousands of objects share one client per namespace. */
function memoizeByKey<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>()
  return (key) => {
    const value = made.get(key) ?? make(key)
    made.set(key, value)
    return value
  }
}

function warnOnce(logger: Logger): Context['warnOnce'] {
  const warned = new Set<string>()
  return (resource: Resource, topic: string, message: string) => {
    const key = `${formatResource(resource)}/${topic}`
    if (!warned.has(key)) logger.warn(`${message} (${formatResource(resource)})`)
    warned.add(key)
  }
}
