/**
 * What an operator stands on: its log, its clock, the way to the cluster, who it is among others. Put together by run.ts before
 * anything begins; nothing in here begins by itself.
 */
import { setMaxListeners } from 'node:events'
import { availableParallelism } from 'node:os'
import type { Session } from '../client/calls.ts'
import { type Client, createClient } from '../client/client.ts'
import { createIdentity } from '../client/identity.ts'
import type { Indices } from '../core/handling/args.ts'
import { WorkerPool } from '../features/workers/pool.ts'
import { type Clock, systemClock } from '../util/clock.ts'
import {
  checkFrameworkLevel,
  createLogger,
  defaultLogSink,
  type Logger,
  type LogSink,
  limitFrameworkLines,
  toLogSink,
} from '../util/log.ts'
import { once } from '../util/once.ts'
import { Activities } from './activities.ts'
import { Connection } from './connect.ts'
import { type Gauges, Health } from './health.ts'
import { Insights } from './insights.ts'
import { Leadership } from './leadership.ts'
import { createLogin } from './login.ts'
import { Pause } from './pause.ts'
import { applyPeering, peeringSelectors } from './peerings.ts'
import type { Blueprint, RunOptions } from './run-options.ts'
import { createOperatorSessions, type OperatorSessions } from './session.ts'
import { Watchdog } from './watchdog.ts'

export interface GroundOptions extends Pick<Gauges, 'queue'> {
  readonly blueprint: Blueprint
  readonly options: RunOptions
  /** Aborted when the operator begins to stop. */
  readonly stopping: AbortSignal
  /** Aborted when all is over. */
  readonly over: AbortSignal
  /** This replica is the leader now. */
  readonly onLeading: () => void
  /** It is not, and will not be; or it was, and is no more. */
  readonly onUnled: (error: unknown) => void
  /** There are no credentials, and there will be none. */
  readonly onLockedOut: (error: unknown) => void
}

export class Ground {
  readonly clock: Clock
  readonly sink: LogSink
  readonly logger: Logger
  readonly watchdog: Watchdog
  readonly health: Health
  readonly pause: Pause = new Pause()
  readonly indices: Indices
  readonly workers: WorkerPool
  readonly activities: Activities
  readonly connection: Connection
  /** Among other operators, and other replicas: made when it is first needed. */
  readonly identity: () => Promise<string>
  readonly leadership: Leadership
  readonly sessions: OperatorSessions
  readonly insights: Insights
  readonly #options: GroundOptions

  constructor(given: GroundOptions) {
    const { blueprint, options, over } = given
    const { settings, registry } = blueprint
    this.#options = given
    this.clock = options.clock ?? systemClock
    const frameworkLogLevel = checkFrameworkLevel(options.frameworkLogLevel, 'frameworkLogLevel')
    this.sink = limitFrameworkLines(
      toLogSink(options.logging ?? defaultLogSink()),
      () => frameworkLogLevel ?? settings.logging.frameworkLevel ?? undefined,
    )
    this.logger = createLogger(this.sink, 'kopf.operator')
    this.watchdog = new Watchdog(this.clock, over)
    this.health = new Health(this.clock, {
      queue: given.queue,
      lagMs: () => this.watchdog.lagMs,
      isPaused: () => this.pause.isPaused,
      isPausedIn: (namespace) => this.pause.isPausedIn(namespace),
    })
    this.indices = registry.indices
    this.workers = new WorkerPool({
      clock: this.clock,
      limit: () => settings.execution.maxWorkers ?? availableParallelism(),
      load: options.loadWorkerModule,
    })
    applyPeering(settings.peering, options)
    const selectors = [...registry.selectors(), ...peeringSelectors(settings.peering)]
    this.insights = new Insights(() => this.sessions.leading, selectors)
    this.activities = new Activities({
      blueprint,
      clock: this.clock,
      sink: this.sink,
      watchdog: this.watchdog,
      indices: this.indices,
      workers: this.workers,
      client: () => this.clientIn(undefined, over, this.sessions.common),
    })
    this.connection = this.#createConnection()
    this.identity = once(async () => options.identity ?? createIdentity(this.clock.now(), Math.random))
    this.leadership = this.#createLeadership()
    this.sessions = createOperatorSessions(this.leadership, {
      connection: this.connection,
      logger: this.logger,
      networking: settings.networking,
      clock: this.clock,
      signal: over,
    })
  }

  /** By default, only for as long as this replica leads. */
  clientIn(namespace: string | undefined, signal: AbortSignal, session: Session = this.sessions.leading): Client {
    return createClient({ session, resolve: (like) => this.insights.resolve(like), namespace, signal })
  }

  /** Whoever wants the operator stopped need not wait until it has started. */
  until(signal: AbortSignal): AbortSignal {
    const { signal: wish } = this.#options.options
    const any = AbortSignal.any([signal, ...(wish ? [wish] : [])])
    // The handlers of the startup get it: as many listen as they have sleeps and requests under way.
    setMaxListeners(0, any)
    return any
  }

  #createConnection(): Connection {
    const { blueprint, options, stopping, over, onLockedOut } = this.#options
    return new Connection({
      transport: options.transport,
      login: createLogin(options, this.activities),
      networking: blueprint.settings.networking,
      health: this.health,
      clock: this.clock,
      logger: createLogger(this.sink, 'kopf.activities.authentication'),
      starting: this.until(over),
      stopping,
      onLost: onLockedOut,
    })
  }

  #createLeadership(): Leadership {
    const { blueprint, onLeading, onUnled } = this.#options
    return new Leadership({
      ...blueprint,
      identity: this.identity,
      session: () => this.sessions.common,
      clock: this.clock,
      logger: this.logger,
      health: this.health,
      onLeading,
      onFailure: onUnled,
    })
  }
}
