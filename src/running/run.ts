/** The life of an operator: the order in which it starts, and the reverse, in which it stops. */

import { setMaxListeners } from 'node:events'
import { readClusterSigns } from '../client/cluster-signs.ts'
import { describeError } from '../core/handling/outcomes.ts'
import { isSuspiciousName } from '../core/handling/register.ts'
import type { KeyedQueue } from '../core/queueing/keyed-queue.ts'
import { KopfError } from '../errors.ts'
import type { Background } from '../features/daemons/background.ts'
import type { Endpoint } from '../features/health/endpoint.ts'
import { createPostingSink } from '../features/posting/log-lines.ts'
import { createPoster, type Poster } from '../features/posting/poster.ts'
import { isExactNamespace } from '../kube/namespaces.ts'
import { type Clock, type Occupation, systemClock } from '../util/clock.ts'
import { toMs } from '../util/duration.ts'
import type { HealthAddress } from '../util/health-address.ts'
import { createSharedController } from '../util/shared-signal.ts'
import { stoppingMs } from '../util/stopping-times.ts'
import { TaskGroup } from '../util/tasks.ts'
import { packageVersion } from '../util/version.ts'
import { within } from '../util/within.ts'
import { type Admission, checkAdmission } from './admission.ts'
import type { Backlog } from './backlog.ts'
import { createRuntime } from './create-runtime.ts'
import { createDoors, type Doors } from './doors.ts'
import { Ground } from './ground.ts'
import { readHealthAddress, serveHealth } from './health-endpoint.ts'
import type { Memory } from './memories.ts'
import { checkMemo } from './memos.ts'
import type { Blueprint, RunningOperator, RunOptions } from './run-options.ts'
import type { Arrival, Runtime } from './runtime.ts'

export async function startOperator(blueprint: Blueprint, options: RunOptions): Promise<RunningOperator> {
  options.signal?.throwIfAborted()
  checkMemo(blueprint.memo)
  const run = new Run(blueprint, options)
  tellClock(run, options.clock)
  const over = options.clock?.attend?.('start')
  try {
    await run.start()
  } finally {
    over?.()
  }
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
  /** Streams and other background work: ends first. */
  readonly #tasks: TaskGroup
  /** Ends when handlers have no more time, and then the writes of what they came to. */
  readonly #handlers = new AbortController()
  readonly #writes = new AbortController()
  /** Ends last of all: clean-up handlers may still ask the cluster for something. */
  readonly #end = new AbortController()
  readonly #ground: Ground
  readonly #healthAddress: HealthAddress | undefined
  #poster: Poster | undefined
  /** Ends with the signal of the end; never rejects. */
  #posting: Promise<void> | undefined
  #endpoint: Endpoint | undefined
  #queue: KeyedQueue<Memory, Arrival> | undefined
  #background: Background<Memory> | undefined
  #backlog: Backlog | undefined
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
    this.#tasks = new TaskGroup((error) => void this.#fail(error))
    const { livenessEndpoint } = options
    this.#healthAddress = livenessEndpoint === undefined ? undefined : readHealthAddress(livenessEndpoint)
    this.#ground = new Ground({
      blueprint,
      options,
      stopping: this.#tasks.signal,
      over: this.#end.signal,
      queue: () => this.#queue,
      onLeading: () => {
        // First: whether anything may be handled is for the peering to say.
        this.#doors?.peerings.lookAgain()
        this.#tellBacklog()
        this.#queue?.recheckLimit()
      },
      onUnled: (error) => {
        if (this.#ground.leadership.fallen.aborted) this.#handlers.abort(error)
        void this.#fail(error)
      },
      onLockedOut: (error) => this.#hasLoggedIn && void this.#fail(error),
    })
    // As many listen as there are handlers at work: that is no leak.
    const signals = [this.#tasks.signal, this.#handlers.signal, this.#writes.signal, this.#end.signal]
    setMaxListeners(0, ...signals, this.#ground.leadership.fallen)
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
    this.#ground.logger.debug(`Starting kopf ${packageVersion()}.`)
    try {
      await this.#ground.activities.run('startup', this.#ground.until(this.#tasks.signal))
      checkAdmission(registry, this.#blueprint.settings)
      await this.#serveHealth()
      await this.#ground.connection.ready(undefined)
      this.#ground.health.loggedIn()
      this.#hasLoggedIn = true
      this.#options.observer?.connected?.(this.#ground.connection.info?.server)
      await this.#ground.leadership.start(this.#ground.connection.defaultNamespace)
      const runtime = this.#createRuntime()
      const doors = this.#createDoors(runtime)
      this.#doors = doors
      this.#posting = this.#poster!.run(this.#end.signal)
      if (this.#ground.clock === systemClock) this.#tasks.run((ending) => this.#ground.watchdog.checkLoop(ending))
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
    await this.#ground.leadership.looked(ending)
    const started = orchestra.start(ending)
    this.#tasks.run(() => started)
    await Promise.race([started, peerings.stoodBack])
    if (!ending.aborted) this.#ground.health.phase = 'running'
  }

  async #startAdmission(admission: Admission, ending: AbortSignal): Promise<void> {
    if (!admission.isNeeded) return
    this.#ground.health.webhooks = 'starting'
    await admission.start(ending)
    if (!ending.aborted) this.#ground.health.webhooks = 'serving'
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
    this.#ground.health.phase = 'stopping'
    this.#queue?.close()
    const streams = this.#tasks.stop()
    const daemons = this.#background?.stopAll()
    const { fallen } = this.#ground.leadership
    const handlersMs = fallen.aborted ? 0 : toMs(queueing.exitTimeout)
    this.#ground.watchdog.reportWaiting(this.#ground.logger, handlersMs)
    await within(this.#ground.clock, handlersMs, this.#untilIdle())
    this.#ground.watchdog.reportCut(fallen.aborted ? 'this replica is not the leader any more' : undefined)
    this.#handlers.abort(new Error('The operator is stopping'))
    await within(this.#ground.clock, stoppingMs.lastWrites, this.#untilIdle())
    const left = this.#background?.size ?? 0
    if (left > 0)
      this.#ground.logger.info(`Waiting for ${left} ${left === 1 ? 'daemon or timer' : 'daemons and timers'} to end.`)
    // Who leads no more has no time to wait for anybody: the next one begins soon.
    await (fallen.aborted ? within(this.#ground.clock, stoppingMs.lastWrites, daemons) : daemons)
    await within(this.#ground.clock, fallen.aborted ? 0 : stoppingMs.leavePeering, this.#doors?.peerings.leave())
    await within(this.#ground.clock, fallen.aborted ? 0 : stoppingMs.lastEvents, this.#poster?.drain())
    await streams
    await this.#closeAdmission()
    this.#writes.abort()
    await this.#ground.leadership.end({ isIdle: (this.#queue?.size ?? 0) + (this.#background?.size ?? 0) === 0 })
    this.#ground.workers.excuse()
    try {
      await this.#ground.activities.run('cleanup', createSharedController().signal)
    } finally {
      await this.#closeWorkers()
      this.#doors?.orchestra.clearIndices()
      this.#end.abort()
      await this.#posting
      await this.#ground.connection.close()
      await this.#endpoint?.close()
    }
  }

  async #closeAdmission(): Promise<void> {
    const admission = this.#doors?.admission
    const last = this.#ground.leadership.isLeading ? admission?.withdraw(this.#end.signal) : admission?.leave()
    await within(this.#ground.clock, stoppingMs.withdrawWebhooks, last)
    await within(this.#ground.clock, stoppingMs.lastReviews, admission?.close())
    if (admission?.isServing) {
      this.#ground.logger.warn('The webhook server has not ended, although its signal is aborted: it is left alone.')
    }
  }

  async #closeWorkers(): Promise<void> {
    const busy = await this.#ground.workers.close()
    if (busy > 0) this.#ground.logger.warn(`Worker threads that had not come to an end were terminated: ${busy}.`)
  }

  /** No function of the user is under way on any object. */
  async #untilIdle(): Promise<void> {
    await Promise.all([this.#queue?.idle(), this.#doors?.orchestra.indexed()])
  }

  /** The error is what it ends with, whatever else goes wrong on the way out. */
  async #fail(error: unknown): Promise<void> {
    if (this.#stopping !== undefined) return
    this.#ground.logger.error(`The operator has failed: ${describeError(error)}`)
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

  async #serveHealth(): Promise<void> {
    if (this.#healthAddress === undefined) return
    const probes = this.#ground.activities.probes(this.#end.signal)
    const sources = { probes, health: this.#ground.health, logger: this.#ground.logger }
    this.#endpoint = await serveHealth(this.#healthAddress, sources)
  }

  #createRuntime(): Runtime {
    const { settings, lifecycle } = this.#blueprint
    const poster = createPoster({
      session: this.#ground.sessions.leading,
      clock: this.#ground.clock,
      settings: settings.posting,
      logger: this.#ground.logger,
      defaultNamespace: () => this.#ground.connection.defaultNamespace,
    })
    const runtime = createRuntime({
      blueprint: this.#blueprint,
      lifecycle: this.#options.lifecycle ?? lifecycle,
      session: this.#ground.sessions.leading,
      clock: this.#ground.clock,
      sink: createPostingSink(this.#ground.sink, { poster, settings: settings.posting }),
      logger: this.#ground.logger,
      poster,
      watchdog: this.#ground.watchdog,
      workers: this.#ground.workers,
      indices: this.#ground.indices,
      pause: this.#ground.pause,
      signal: this.#handlers.signal,
      writing: this.#writes.signal,
      stopping: this.#tasks.signal,
      standing: this.#ground.leadership,
      observer: this.#options.observer,
      mayWork: () => this.#isIndexed && this.#ground.leadership.isLeading,
      isOneNamespace: isOneNamespace(this.#options),
      clientIn: (namespace) => this.#ground.clientIn(namespace, this.#writes.signal),
      namespace: this.#ground.connection.defaultNamespace,
    })
    this.#poster = poster
    this.#queue = runtime.queue
    this.#background = runtime.background
    this.#backlog = runtime.backlog
    return runtime
  }

  #createDoors(runtime: Runtime): Doors {
    return createDoors(runtime, {
      registry: this.#blueprint.registry,
      insights: this.#ground.insights,
      watchdog: this.#ground.watchdog,
      health: this.#ground.health,
      tasks: this.#tasks,
      scope: { namespaces: this.#options.clusterwide ? undefined : this.#options.namespaces },
      namespace: this.#ground.connection.defaultNamespace,
      identity: this.#ground.identity,
      readSigns: () => readClusterSigns(this.#ground.sessions.leading, this.#ground.connection.info, this.#end.signal),
      onIndexed: () => {
        this.#isIndexed = true
        runtime.queue.recheckLimit()
      },
      onFailure: (error) => void this.#fail(error),
    })
  }

  /** What a stand-by has gathered is looked at from now on. */
  #tellBacklog(): void {
    if (this.#backlog === undefined) return
    for (const memory of this.#doors?.orchestra.memories() ?? []) {
      if (!memory.served.isOnlyIndexed) this.#backlog.found(memory)
    }
  }

  #warnOfNames(): void {
    for (const handler of this.#blueprint.registry.handlers.filter(isSuspiciousName)) {
      this.#ground.logger.warn(
        `The id "${handler.id}" of a ${handler.kind} handler looks like a name made by a minifier: it is stored on objects ` +
          'and must not change from build to build; set it with the option "id"',
      )
    }
  }
}

function isOneNamespace({ clusterwide, namespaces }: RunOptions): boolean {
  return !clusterwide && namespaces?.length === 1 && isExactNamespace(namespaces[0]!)
}
