/** The life of an operator: the order in which it starts, and the reverse, in which it stops. */

import { setMaxListeners } from 'node:events'
import { availableParallelism } from 'node:os'
import { createClient } from '../client/client.ts'
import { readClusterSigns } from '../client/cluster-signs.ts'
import { createIdentity } from '../client/identity.ts'
import type { Indices } from '../core/handling/args.ts'
import { describeError } from '../core/handling/outcomes.ts'
import { isSuspiciousName } from '../core/handling/register.ts'
import type { KeyedQueue } from '../core/queueing/keyed-queue.ts'
import { KopfError } from '../errors.ts'
import type { Background } from '../features/daemons/background.ts'
import type { Endpoint } from '../features/health/endpoint.ts'
import { createPostingSink } from '../features/posting/log-lines.ts'
import { createPoster, type Poster } from '../features/posting/poster.ts'
import { WorkerPool } from '../features/workers/pool.ts'
import { type Clock, type Occupation, systemClock } from '../util/clock.ts'
import { toMs } from '../util/duration.ts'
import type { HealthAddress } from '../util/health-address.ts'
import { createLogger, defaultLogSink, type Logger, type LogSink, toLogSink } from '../util/log.ts'
import { once } from '../util/once.ts'
import { TaskGroup } from '../util/tasks.ts'
import { packageVersion } from '../util/version.ts'
import { within } from '../util/within.ts'
import { Activities } from './activities.ts'
import { type Admission, checkAdmission } from './admission.ts'
import { Connection } from './connect.ts'
import { createRuntime } from './create-runtime.ts'
import { createDoors, type Doors } from './doors.ts'
import { Health } from './health.ts'
import { readHealthAddress, serveHealth } from './health-endpoint.ts'
import { Insights } from './insights.ts'
import { Leadership } from './leadership.ts'
import { createLogin } from './login.ts'
import type { Memory } from './memories.ts'
import { checkMemo } from './memos.ts'
import { Pause } from './pause.ts'
import { applyPeering, peeringSelectors } from './peerings.ts'
import type { Blueprint, RunningOperator, RunOptions } from './run-options.ts'
import type { Arrival, Runtime } from './runtime.ts'
import { createOperatorSessions, type OperatorSessions } from './session.ts'
import { Watchdog } from './watchdog.ts'

/** After the time for handlers is up: to write what they have come to. */
const lastWritesMs = 1000
const lastEventsMs = 2000
/** To tell others of the peering that they can go on; who is not told finds out. */
const goodbyeMs = 5000
/** To take back what the cluster was told of the webhooks: without it, they would be asked for in vain. */
const withdrawalMs = 10_000
/** For webhook servers that do not end when they are told to. */
const lastReviewsMs = 10_000

export async function startOperator(blueprint: Blueprint, options: RunOptions): Promise<RunningOperator> {
  options.signal?.throwIfAborted()
  checkMemo(blueprint.memo)
  const run = new Run(blueprint, options)
  tellClock(run, options.clock)
  await run.start()
  return run
}

/** A clock that skips time must know that somebody waits for the start, and for the end. */
function tellClock({ ready, done, stopping }: RunningOperator, clock: Clock | undefined): void {
  if (clock?.attend === undefined) return
  const attend = (occupation: Occupation, passage: Promise<void>) => {
    const over = clock.attend!(occupation)
    passage.then(over, over)
  }
  attend('run', done)
  attend('passage', ready)
  stopping.addEventListener('abort', () => attend('passage', done), { once: true })
}

/** The ends of `ready` and `done`. */
interface Settle {
  readonly ready: () => void
  readonly unready: (error: unknown) => void
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

class Run implements RunningOperator {
  readonly ready: Promise<void>
  readonly done: Promise<void>
  readonly #blueprint: Blueprint
  readonly #options: RunOptions
  readonly #clock: Clock
  readonly #sink: LogSink
  readonly #logger: Logger
  /** Streams and other background work: ends first. */
  readonly #tasks: TaskGroup
  /** Ends when handlers have no more time, and then the writes of what they came to. */
  readonly #handlers = new AbortController()
  readonly #writes = new AbortController()
  /** Ends last of all: clean-up handlers may still ask the cluster for something. */
  readonly #end = new AbortController()
  readonly #watchdog: Watchdog
  readonly #activities: Activities
  readonly #connection: Connection
  readonly #health: Health
  readonly #healthAddress: HealthAddress | undefined
  /** Among other operators, and other replicas: made when it is first needed. */
  readonly #identity: () => Promise<string>
  readonly #leadership: Leadership
  readonly #sessions: OperatorSessions
  readonly #insights: Insights
  readonly #indices: Indices
  readonly #workers: WorkerPool
  readonly #pause = new Pause()
  #poster: Poster | undefined
  /** Ends with the signal of the end; never rejects. */
  #posting: Promise<void> | undefined
  #endpoint: Endpoint | undefined
  #queue: KeyedQueue<Memory, Arrival> | undefined
  #background: Background<Memory> | undefined
  #doors: Doors | undefined
  /** No handler of objects is called before the indices are complete; without any they are. */
  #isIndexed: boolean
  #stopping: Promise<void> | undefined
  /** Afterwards, credentials that are lost for good are the end of it; before, of whoever asked for them. */
  #hasLoggedIn = false
  readonly #settle: Settle

  constructor(blueprint: Blueprint, options: RunOptions) {
    this.#blueprint = blueprint
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#sink = toLogSink(options.logging ?? defaultLogSink())
    this.#logger = createLogger(this.#sink, 'kopf.operator')
    this.#tasks = new TaskGroup((error) => void this.#fail(error))
    this.#watchdog = new Watchdog(this.#clock, this.#end.signal)
    this.#health = new Health(this.#clock, {
      queue: () => this.#queue,
      lagMs: () => this.#watchdog.lagMs,
      isPaused: () => this.#pause.isPaused,
    })
    const { livenessEndpoint } = options
    this.#healthAddress = livenessEndpoint === undefined ? undefined : readHealthAddress(livenessEndpoint)
    applyPeering(blueprint.settings.peering, options)
    const selectors = [...blueprint.registry.selectors(), ...peeringSelectors(blueprint.settings.peering)]
    this.#insights = new Insights(() => this.#sessions.leading, selectors)
    this.#indices = blueprint.registry.indices
    this.#workers = new WorkerPool({
      clock: this.#clock,
      limit: () => blueprint.settings.execution.maxWorkers ?? availableParallelism(),
      load: options.loadWorkerModule,
    })
    this.#activities = new Activities({
      blueprint,
      clock: this.#clock,
      sink: this.#sink,
      watchdog: this.#watchdog,
      indices: this.#indices,
      workers: this.#workers,
      client: () => this.#clientIn(undefined, this.#end.signal, this.#sessions.common),
    })
    this.#connection = this.#createConnection()
    this.#identity = once(async () => options.identity ?? createIdentity(this.#clock.now(), Math.random))
    this.#leadership = this.#createLeadership()
    this.#sessions = createOperatorSessions(this.#leadership, {
      connection: this.#connection,
      logger: this.#logger,
      networking: blueprint.settings.networking,
      clock: this.#clock,
      signal: this.#end.signal,
    })
    // As many listen as there are handlers at work: that is no leak.
    const signals = [this.#tasks.signal, this.#handlers.signal, this.#writes.signal, this.#end.signal]
    setMaxListeners(0, ...signals, this.#leadership.fallen)
    this.#isIndexed = blueprint.registry.indexTables.size === 0
    const settle: Partial<Settle> = {}
    this.ready = new Promise((resolve, reject) => Object.assign(settle, { ready: resolve, unready: reject }))
    this.done = new Promise((resolve, reject) => Object.assign(settle, { done: resolve, failed: reject }))
    this.#settle = settle as Settle
    // Whoever does not wait for them is told of a failure by the one they do wait for.
    this.ready.catch(() => {})
    this.done.catch(() => {})
  }

  async start(): Promise<void> {
    const { registry } = this.#blueprint
    const { signal } = this.#options
    this.#warnOfNames()
    this.#logger.debug(`Starting kopf ${packageVersion()}.`)
    try {
      await this.#activities.run('startup', this.#until(this.#tasks.signal))
      checkAdmission(registry, this.#blueprint.settings)
      await this.#serveHealth()
      await this.#connection.ready(undefined)
      this.#health.loggedIn()
      this.#hasLoggedIn = true
      await this.#leadership.start(this.#connection.defaultNamespace)
      const runtime = this.#createRuntime()
      const doors = this.#createDoors(runtime)
      this.#doors = doors
      this.#posting = this.#poster!.run(this.#end.signal)
      if (this.#clock === systemClock) this.#tasks.run((ending) => this.#watchdog.checkLoop(ending))
      this.#tasks.run(async (ending) => {
        await Promise.all([this.#startWatching(doors, ending), this.#startAdmission(doors.admission, ending)])
        if (!ending.aborted) this.#settle.ready()
      })
    } catch (error) {
      // Told to the caller, who waits for it.
      await this.#endWith(error)
      throw error
    }
    signal?.addEventListener('abort', () => void this.stop().catch(() => {}), {
      once: true,
      signal: this.#writes.signal,
    })
    if (signal?.aborted) await this.stop()
  }

  /** One that has to stand back is as ready as it can be; when it goes on, it may still fail. */
  async #startWatching({ orchestra, peerings }: Doors, ending: AbortSignal): Promise<void> {
    await this.#leadership.looked(ending)
    const started = orchestra.start(ending)
    this.#tasks.run(() => started)
    await Promise.race([started, peerings.stoodBack])
    if (!ending.aborted) this.#health.phase = 'running'
  }

  async #startAdmission(admission: Admission, ending: AbortSignal): Promise<void> {
    if (!admission.isNeeded) return
    this.#health.webhooks = 'starting'
    await admission.start(ending)
    if (!ending.aborted) this.#health.webhooks = 'serving'
  }

  get stopping(): AbortSignal {
    return this.#tasks.signal
  }

  stop(): Promise<void> {
    // Of one that is ready, this is no news.
    this.#settle.unready(new KopfError('KOPF_STOPPED', 'Cannot become ready: the operator was stopped before it was'))
    this.#stopping ??= this.#close().then(
      () => this.#settle.done(),
      (error: unknown) => {
        this.#settle.failed(error)
        throw error
      },
    )
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Watching stops, daemons end and handlers finish, what they came to is written, the last events are posted; then the clean-up. */
  async #close(): Promise<void> {
    const { queueing } = this.#blueprint.settings
    this.#health.phase = 'stopping'
    this.#queue?.close()
    const streams = this.#tasks.stop()
    const daemons = this.#background?.stopAll()
    const { fallen } = this.#leadership
    await within(this.#clock, fallen.aborted ? 0 : toMs(queueing.exitTimeout), this.#untilIdle())
    this.#handlers.abort(new Error('The operator is stopping'))
    await within(this.#clock, lastWritesMs, this.#untilIdle())
    const left = this.#background?.size ?? 0
    if (left > 0)
      this.#logger.info(`Waiting for ${left} ${left === 1 ? 'daemon or timer' : 'daemons and timers'} to end.`)
    // Who leads no more has no time to wait for anybody: the next one begins soon.
    await (fallen.aborted ? within(this.#clock, lastWritesMs, daemons) : daemons)
    await within(this.#clock, fallen.aborted ? 0 : goodbyeMs, this.#doors?.peerings.leave())
    await within(this.#clock, fallen.aborted ? 0 : lastEventsMs, this.#poster?.drain())
    await streams
    await this.#closeAdmission()
    this.#writes.abort()
    await this.#leadership.end({ isIdle: (this.#queue?.size ?? 0) + (this.#background?.size ?? 0) === 0 })
    this.#workers.excuse()
    try {
      await this.#activities.run('cleanup', new AbortController().signal)
    } finally {
      await this.#closeWorkers()
      this.#doors?.orchestra.clearIndices()
      this.#end.abort()
      await this.#posting
      await this.#connection.close()
      await this.#endpoint?.close()
    }
  }

  async #closeAdmission(): Promise<void> {
    const admission = this.#doors?.admission
    const last = this.#leadership.isLeading ? admission?.withdraw(this.#end.signal) : admission?.leave()
    await within(this.#clock, withdrawalMs, last)
    await within(this.#clock, lastReviewsMs, admission?.close())
    if (admission?.isServing) {
      this.#logger.warn('The webhook server has not ended, although its signal is aborted: it is left alone.')
    }
  }

  async #closeWorkers(): Promise<void> {
    const busy = await this.#workers.close()
    if (busy > 0) this.#logger.warn(`Worker threads that had not come to an end were terminated: ${busy}.`)
  }

  /** No function of the user is under way on any object. */
  async #untilIdle(): Promise<void> {
    await Promise.all([this.#queue?.idle(), this.#doors?.orchestra.indexed()])
  }

  /** The error is what it ends with, whatever else goes wrong on the way out. */
  async #fail(error: unknown): Promise<void> {
    if (this.#stopping !== undefined) return
    this.#logger.error(`The operator has failed: ${describeError(error)}`)
    await this.#endWith(error)
  }

  async #endWith(error: unknown): Promise<void> {
    this.#settle.unready(error)
    this.#stopping ??= this.#close().then(
      () => this.#settle.failed(error),
      () => this.#settle.failed(error),
    )
    await this.#stopping
  }

  /** Whoever wants the operator stopped need not wait until it has started. */
  #until(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, ...(this.#options.signal ? [this.#options.signal] : [])])
  }

  async #serveHealth(): Promise<void> {
    if (this.#healthAddress === undefined) return
    const probes = this.#activities.probes(this.#end.signal)
    const sources = { probes, health: this.#health, logger: this.#logger }
    this.#endpoint = await serveHealth(this.#healthAddress, sources)
  }

  #createConnection(): Connection {
    return new Connection({
      transport: this.#options.transport,
      login: createLogin(this.#options, this.#activities),
      networking: this.#blueprint.settings.networking,
      health: this.#health,
      clock: this.#clock,
      logger: createLogger(this.#sink, 'kopf.activities.authentication'),
      starting: this.#until(this.#end.signal),
      stopping: this.#tasks.signal,
      onLost: (error) => this.#hasLoggedIn && void this.#fail(error),
    })
  }

  #createLeadership(): Leadership {
    return new Leadership({
      ...this.#blueprint,
      identity: this.#identity,
      session: () => this.#sessions.common,
      clock: this.#clock,
      logger: this.#logger,
      health: this.#health,
      onLeading: () => {
        // First: whether anything may be handled is for the peering to say.
        this.#doors?.peerings.lookAgain()
        this.#queue?.recheckLimit()
      },
      onFailure: (error) => {
        if (this.#leadership.fallen.aborted) this.#handlers.abort(error)
        void this.#fail(error)
      },
    })
  }

  #clientIn(namespace: string | undefined, signal: AbortSignal, session = this.#sessions.leading) {
    return createClient({
      session,
      resolve: (like) => this.#insights.resolve(like),
      namespace,
      signal,
    })
  }

  #createRuntime(): Runtime {
    const { settings, lifecycle } = this.#blueprint
    const poster = createPoster({
      session: this.#sessions.leading,
      clock: this.#clock,
      settings: settings.posting,
      logger: this.#logger,
      defaultNamespace: () => this.#connection.defaultNamespace,
    })
    const runtime = createRuntime({
      blueprint: this.#blueprint,
      lifecycle: this.#options.lifecycle ?? lifecycle,
      session: this.#sessions.leading,
      clock: this.#clock,
      sink: createPostingSink(this.#sink, { poster, settings: settings.posting }),
      logger: this.#logger,
      poster,
      watchdog: this.#watchdog,
      workers: this.#workers,
      indices: this.#indices,
      pause: this.#pause,
      signal: this.#handlers.signal,
      writing: this.#writes.signal,
      stopping: this.#tasks.signal,
      standing: this.#leadership,
      mayWork: () => this.#isIndexed && this.#leadership.isLeading,
      clientIn: (namespace) => this.#clientIn(namespace, this.#writes.signal),
    })
    this.#poster = poster
    this.#queue = runtime.queue
    this.#background = runtime.background
    return runtime
  }

  #createDoors(runtime: Runtime): Doors {
    return createDoors(runtime, {
      registry: this.#blueprint.registry,
      insights: this.#insights,
      watchdog: this.#watchdog,
      health: this.#health,
      tasks: this.#tasks,
      scope: { namespaces: this.#options.clusterwide ? undefined : this.#options.namespaces },
      namespace: this.#connection.defaultNamespace,
      identity: this.#identity,
      readSigns: () => readClusterSigns(this.#sessions.leading, this.#connection.info, this.#end.signal),
      onIndexed: () => {
        this.#isIndexed = true
        runtime.queue.recheckLimit()
      },
      onFailure: (error) => void this.#fail(error),
    })
  }

  #warnOfNames(): void {
    for (const handler of this.#blueprint.registry.handlers.filter(isSuspiciousName)) {
      this.#logger.warn(
        `The id "${handler.id}" of a ${handler.kind} handler looks like a name made by a minifier: it is stored on objects ` +
          'and must not change from build to build; set it with the option "id"',
      )
    }
  }
}
