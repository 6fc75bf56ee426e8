/** Starts an operator, and is the `RunningOperator` that `start()` returns. The parts are built by bootstrap.ts and stopped by shutdown.ts. */
import { setMaxListeners } from 'node:events'
import { type AdmissionService, checkAdmission } from '../admission/admission.ts'
import type { Session } from '../client/session.ts'
import { KopfError } from '../errors.ts'
import { checkMemo } from '../handlers/args/memos.ts'
import { isSuspiciousName } from '../handlers/create-handler.ts'
import { readHealthAddress, serveHealth } from '../health/serve-health.ts'
import type { ServingAddress } from '../serving/address.ts'
import type { Endpoint } from '../serving/endpoint.ts'
import { type Clock, type Occupation, systemClock } from '../util/async/clock.ts'
import { TaskGroup } from '../util/async/task-group.ts'
import { describeError } from '../util/log/describe-error.ts'
import { packageVersion } from '../util/process/package-files.ts'
import { runDetached } from '../util/tracing/open-telemetry.ts'
import { type Assembly, assemble, type Base, createBase, type Lifetimes, type OperatorDefinition } from './bootstrap.ts'
import { type RunningMetrics, startMetrics } from './metrics.ts'
import { dashboardKey, type RunningDashboard, type RunningOperator, type RunOptions, sessionKey } from './options.ts'
import { serveDashboard } from './serve-dashboard.ts'
import { shutDown } from './shutdown.ts'

export async function startOperator(definition: OperatorDefinition, options: RunOptions): Promise<RunningOperator> {
  options.signal?.throwIfAborted()
  checkMemo(definition.memo)
  const run = new OperatorRun(definition, options)
  attendClock(run, options.clock)
  const over = options.clock?.attend?.('start')
  try {
    // Watches and Leases of the operator are no part of the work that starts it, such as a handler of another operator.
    await runDetached(() => run.start())
  } finally {
    over?.()
  }
  return run
}

/** Reports the run, and the start and stop that callers wait for, to a test clock, which decides by them when to skip time. */
function attendClock({ ready, done, stopping }: RunningOperator, clock: Clock | undefined): void {
  if (clock?.attend === undefined) return
  const attend = (occupation: Occupation, passage: Promise<void>) => {
    const over = clock.attend!(occupation)
    passage.then(over, over)
  }
  attend('run', done)
  attend('passage', ready)
  stopping.addEventListener('abort', () => attend('passage', done), { once: true })
}

/** The functions that settle the promises `ready` and `done`. */
interface RunPromises {
  readonly ready: () => void
  readonly unready: (error: unknown) => void
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

class OperatorRun implements RunningOperator {
  readonly ready: Promise<void>
  readonly done: Promise<void>
  readonly #definition: OperatorDefinition
  readonly #options: RunOptions
  readonly #lifetimes: Lifetimes
  readonly #base: Base
  readonly #healthAddress: ServingAddress | undefined
  readonly #promises: RunPromises
  /** Undefined until the operator has a connection. */
  #assembly: Assembly | undefined
  /** The posting of Kubernetes events, which ends when `lifetimes.end` is aborted. Never rejects. */
  #posting: Promise<void> | undefined
  /** The endpoints that are served: health, metrics. Closed last. */
  readonly #endpoints: Endpoint[] = []
  #dashboard: RunningDashboard | undefined
  #metrics: RunningMetrics | undefined
  #stopping: Promise<void> | undefined
  /** Whether the first login has succeeded. Before that, rejected credentials fail the request that needs them; afterwards they stop the operator. */
  #hasLoggedIn = false

  constructor(definition: OperatorDefinition, options: RunOptions) {
    this.#definition = definition
    this.#options = options
    const tasks = new TaskGroup((error) => void this.#fail(error))
    const [handlers, writes, end] = [new AbortController(), new AbortController(), new AbortController()]
    this.#lifetimes = { tasks, handlers, writes, end }
    const { livenessEndpoint } = options
    this.#healthAddress = livenessEndpoint === undefined ? undefined : readHealthAddress(livenessEndpoint)
    this.#base = createBase({
      definition,
      options,
      lifetimes: this.#lifetimes,
      starting: this.#until(end.signal),
      onLeadershipLost: (error) => {
        if (this.#base.leadership.lost.aborted) handlers.abort(error)
        void this.#fail(error)
      },
      onLockedOut: (error) => {
        if (this.#hasLoggedIn) void this.#fail(error)
      },
    })
    // Every running handler adds listeners to these signals: Node's warning about leaks would be wrong.
    setMaxListeners(0, tasks.signal, handlers.signal, writes.signal, end.signal, this.#base.leadership.lost)
    const promises: Partial<RunPromises> = {}
    this.ready = new Promise((resolve, reject) => Object.assign(promises, { ready: resolve, unready: reject }))
    this.done = new Promise((resolve, reject) => Object.assign(promises, { done: resolve, failed: reject }))
    this.#promises = promises as RunPromises
    // A caller that awaits only `ready` or only `done` must not get an unhandled rejection of the other promise.
    this.ready.catch(() => {})
    this.done.catch(() => {})
  }

  async start(): Promise<void> {
    const { signal } = this.#options
    const { logger, activities, leadership, transport, health, observer } = this.#base
    observer.phaseChanged?.({ phase: 'starting' })
    this.#warnOfMinifiedNames()
    logger.debug(`Starting kopf ${packageVersion()}.`)
    try {
      await activities.run('startup', this.#until(this.#lifetimes.tasks.signal))
      checkAdmission(this.#definition.registry, this.#definition.settings)
      await this.#serveHealth()
      await this.#serveMetrics()
      await this.#serveDashboard()
      await transport.ready(undefined)
      health.loggedIn()
      this.#hasLoggedIn = true
      observer.connected?.({ server: transport.info?.server })
      await leadership.start(transport.defaultNamespace)
      this.#startAssembly()
    } catch (error) {
      // The caller of `start` gets this error, so it is not logged.
      await this.#endWith(error)
      throw error
    }
    signal?.addEventListener('abort', () => void this.stop().catch(() => {}), {
      once: true,
      signal: this.#lifetimes.writes.signal,
    })
    if (signal?.aborted) await this.stop()
  }

  #startAssembly(): void {
    const { tasks, end } = this.#lifetimes
    const { clock, watchdog } = this.#base
    const assembly = assemble(this.#base, {
      definition: this.#definition,
      options: this.#options,
      lifetimes: this.#lifetimes,
      onFailure: (error) => void this.#fail(error),
    })
    this.#assembly = assembly
    this.#metrics?.attach(assembly.context)
    this.#posting = assembly.poster.run(end.signal)
    if (clock === systemClock) tasks.run((stopping) => watchdog.checkLoop(stopping))
    tasks.run(async (stopping) => {
      await Promise.all([this.#startWatching(assembly, stopping), this.#startAdmission(assembly.admission, stopping)])
      if (!stopping.aborted) this.#promises.ready()
    })
  }

  /** Resolves when all objects are listed, or when the operator is paused: a paused operator counts as ready. */
  async #startWatching({ orchestrator, peerings }: Assembly, stopping: AbortSignal): Promise<void> {
    await this.#base.leadership.waitForLeader(stopping)
    const started = orchestrator.start(stopping)
    this.#lifetimes.tasks.run(() => started)
    await Promise.race([started, peerings.paused])
    if (stopping.aborted) return
    this.#base.health.phase = 'running'
    this.#base.observer.phaseChanged?.({ phase: 'running' })
  }

  async #startAdmission(admission: AdmissionService, stopping: AbortSignal): Promise<void> {
    if (!admission.isNeeded) return
    this.#base.health.webhooks = 'starting'
    await admission.start(stopping)
    if (!stopping.aborted) this.#base.health.webhooks = 'serving'
  }

  get [sessionKey](): Session {
    return this.#base.sessions.common
  }

  get [dashboardKey](): RunningDashboard | undefined {
    return this.#dashboard
  }

  get stopping(): AbortSignal {
    return this.#lifetimes.tasks.signal
  }

  stop(): Promise<void> {
    // Has no effect if the operator is ready already.
    this.#promises.unready(new KopfError('KOPF_STOPPED', 'Cannot become ready: the operator was stopped before'))
    this.#stopping ??= this.#shutDown().then(
      () => this.#promises.done(),
      (error: unknown) => {
        this.#promises.failed(error)
        throw error
      },
    )
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #shutDown(): Promise<void> {
    this.#base.observer.phaseChanged?.({ phase: 'stopping' })
    try {
      await shutDown({
        base: this.#base,
        assembly: this.#assembly,
        lifetimes: this.#lifetimes,
        definition: this.#definition,
        hint: this.#options.stopHint,
        posting: this.#posting,
        endpoints: this.#endpoints,
        metrics: this.#metrics,
      })
    } finally {
      this.#base.observer.phaseChanged?.({ phase: 'stopped' })
    }
  }

  /** Stops the operator after an error. `done` rejects with this error, even if the stop fails too. */
  async #fail(error: unknown): Promise<void> {
    if (this.#stopping !== undefined) return
    this.#base.logger.error(`The operator has failed: ${describeError(error)}`)
    await this.#endWith(error)
  }

  async #endWith(error: unknown): Promise<void> {
    this.#promises.unready(error)
    this.#stopping ??= this.#shutDown().then(
      () => this.#promises.failed(error),
      () => this.#promises.failed(error),
    )
    await this.#stopping
  }

  async #serveHealth(): Promise<void> {
    if (this.#healthAddress === undefined) return
    const { activities, health, logger } = this.#base
    const probes = activities.probes(this.#lifetimes.end.signal)
    this.#endpoints.push(await serveHealth(this.#healthAddress, { probes, health, logger }))
  }

  /** Before the login, so that a port that is in use is reported before any request to the cluster. */
  async #serveMetrics(): Promise<void> {
    this.#metrics = await startMetrics({ base: this.#base, definition: this.#definition })
    const { address, plainHttp, certFile, keyFile } = this.#definition.settings.metrics
    if (address === null) return
    const settings = { address, plainHttp, certFile, keyFile }
    const { sessions, clock, logger } = this.#base
    const { serveMetrics } = await import('../metrics/serve-metrics.ts')
    const metrics = this.#definition.metrics.registry
    const signal = this.#lifetimes.end.signal
    this.#endpoints.push(
      await serveMetrics({ settings, metrics, session: () => sessions.common, clock, logger, signal }),
    )
  }

  async #serveDashboard(): Promise<void> {
    const dashboard = await serveDashboard({
      base: this.#base,
      definition: this.#definition,
      assembly: () => this.#assembly,
      logsAddress: this.#options.logsDashboard ?? true,
      signal: this.#lifetimes.end.signal,
    })
    if (dashboard === undefined) return
    this.#dashboard = dashboard
    this.#endpoints.push(dashboard)
  }

  /** A signal that is also aborted when the user aborts the operator before it has started. */
  #until(signal: AbortSignal): AbortSignal {
    const { signal: aborted } = this.#options
    const any = AbortSignal.any([signal, ...(aborted ? [aborted] : [])])
    // Sleeps and requests of startup handlers add listeners: Node's warning about leaks would be wrong.
    setMaxListeners(0, any)
    return any
  }

  #warnOfMinifiedNames(): void {
    for (const handler of this.#definition.registry.handlers.filter(isSuspiciousName)) {
      this.#base.logger.warn(
        `The id "${handler.id}" of a ${handler.type} handler looks like a name made by a minifier: it is stored on objects ` +
          'and must not change from build to build; set it with the option "id"',
      )
    }
  }
}
