/** The life of an operator: the order in which it starts, and the reverse, in which it stops. */

import type { Session } from '../client/calls.ts'
import { createClient } from '../client/client.ts'
import type { ConnectionInfo } from '../client/credentials.ts'
import { createSession } from '../client/session.ts'
import type { Lifecycle } from '../core/handling/lifecycles.ts'
import { describeError } from '../core/handling/outcomes.ts'
import { isSuspiciousName } from '../core/handling/register.ts'
import type { Registry } from '../core/handling/registry.ts'
import { KeyedQueue } from '../core/queueing/keyed-queue.ts'
import type { Settings } from '../core/settings.ts'
import { runActivities } from '../features/activities/run.ts'
import { createPostingSink } from '../features/posting/log-lines.ts'
import { createPoster, type Poster } from '../features/posting/poster.ts'
import { createRecorder } from '../features/posting/recorder.ts'
import type { NamespacePattern } from '../kube/namespaces.ts'
import { formatResource } from '../kube/selectors.ts'
import { Alarms } from '../util/alarms.ts'
import { type Clock, noLongerNeeded, systemClock } from '../util/clock.ts'
import { toMs } from '../util/duration.ts'
import { createLogger, defaultLogSink, type Logger, type LogSink, type PinoLike, toLogSink } from '../util/log.ts'
import { once } from '../util/once.ts'
import { TaskGroup } from '../util/tasks.ts'
import type { Transport } from '../util/transport.ts'
import { packageVersion } from '../util/version.ts'
import { type Connected, connect } from './connect.ts'
import { Insights } from './insights.ts'
import type { Memory } from './memories.ts'
import { Orchestra } from './orchestrate.ts'
import { processObject } from './process.ts'
import type { Arrival, Runtime } from './runtime.ts'
import { Watchdog } from './watchdog.ts'

export interface RunOptions {
  /** Only what is in these namespaces: names, globs, or expressions. */
  readonly namespaces?: readonly NamespacePattern[]
  /** The whole cluster; so it is where no namespaces are given. */
  readonly clusterwide?: boolean
  /** Take no notice of other operators. */
  readonly standalone?: boolean
  /** Among operators of the same peering. Default: 0. */
  readonly priority?: number
  /** Stops the operator when it is aborted. */
  readonly signal?: AbortSignal
  /** How to reach the cluster; default: the service account of the pod, or the kubeconfig. */
  readonly connection?: ConnectionInfo
  /** Instead of a connection: what takes the requests, such as the embedded server. */
  readonly transport?: Transport
  readonly clock?: Clock
  /** Where log lines go: what `configureLogging` returns, or a logger of pino's shape. */
  readonly logging?: LogSink | PinoLike
  /** Which handlers go first; default: all that are due, in the order of registration. */
  readonly lifecycle?: Lifecycle
}

/** What the operator itself brings along. */
export interface Blueprint {
  readonly registry: Registry
  readonly settings: Settings
  readonly lifecycle: Lifecycle
  readonly memo: object
}

export interface RunningOperator extends AsyncDisposable {
  /** Resolves when all objects that are there have been seen. */
  readonly ready: Promise<void>
  /** Resolves when it has been stopped; rejects when it has failed. */
  readonly done: Promise<void>
  /** Lets handlers finish what they hold, for a while, and cleans up. */
  stop(): Promise<void>
}

/** After the time for handlers is up: to write what they have come to. */
const lastWritesMs = 1000
const lastEventsMs = 2000
const mostWaitingEvents = 1024

export async function startOperator(blueprint: Blueprint, options: RunOptions): Promise<RunningOperator> {
  const run = new Run(blueprint, options)
  await run.start()
  return run
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
  readonly #connected: () => Connected
  readonly #session: () => Session
  readonly #insights: Insights
  #poster: Poster | undefined
  /** Ends with the signal of the end; never rejects. */
  #posting: Promise<void> | undefined
  #connection: Connected | undefined
  #queue: KeyedQueue<Memory, Arrival> | undefined
  #stopping: Promise<void> | undefined
  readonly #settle: Settle

  constructor(blueprint: Blueprint, options: RunOptions) {
    this.#blueprint = blueprint
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#sink = toLogSink(options.logging ?? defaultLogSink())
    this.#logger = createLogger(this.#sink, 'kopf.operator')
    this.#tasks = new TaskGroup((error) => void this.#fail(error))
    this.#watchdog = new Watchdog(this.#clock, this.#end.signal)
    this.#connected = once(() => {
      this.#connection = connect(options)
      return this.#connection
    })
    this.#session = once(() => this.#createSession())
    this.#insights = new Insights(this.#session, blueprint.registry.selectors())
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
      await this.#runActivities('startup')
      const runtime = this.#createRuntime()
      const orchestra = new Orchestra(runtime, {
        registry,
        insights: this.#insights,
        scope: { namespaces: this.#options.clusterwide ? undefined : this.#options.namespaces },
        tasks: this.#tasks,
      })
      this.#posting = this.#poster!.run(this.#end.signal)
      if (this.#clock === systemClock) this.#tasks.run((ending) => this.#watchdog.checkLoop(ending))
      this.#tasks.run(async (ending) => {
        await orchestra.start(ending)
        this.#settle.ready()
      })
    } catch (error) {
      // Told to the caller, who waits for it.
      await this.#endWith(error)
      throw error
    }
    signal?.addEventListener('abort', () => void this.stop(), { once: true, signal: this.#writes.signal })
    if (signal?.aborted) await this.stop()
  }

  stop(): Promise<void> {
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

  /** Watching stops, handlers finish, what they came to is written, the last events are posted; then the clean-up. */
  async #close(): Promise<void> {
    const { queueing } = this.#blueprint.settings
    this.#queue?.close()
    const streams = this.#tasks.stop()
    await this.#within(toMs(queueing.exitTimeout), this.#queue?.idle())
    this.#handlers.abort(new Error('The operator is stopping'))
    await this.#within(lastWritesMs, this.#queue?.idle())
    await this.#within(lastEventsMs, this.#poster?.drain())
    await streams
    this.#writes.abort()
    try {
      await this.#runActivities('cleanup')
    } finally {
      this.#end.abort()
      await this.#posting
      await this.#connection?.close()
    }
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

  async #within(limitMs: number, work: Promise<void> | undefined): Promise<void> {
    if (work === undefined) return
    const done = new AbortController()
    const timer = this.#clock.sleep(limitMs, done.signal).catch(() => {})
    await Promise.race([work, timer])
    done.abort(noLongerNeeded)
    await timer
  }

  #runActivities(kind: 'startup' | 'cleanup'): Promise<void> {
    const { registry, settings, memo } = this.#blueprint
    const logger = createLogger(this.#sink, `kopf.activities.${kind}`)
    return runActivities(registry.activities(kind), {
      clock: this.#clock,
      logger,
      watch: this.#watchdog.watchOf(),
      defaultBackoffMs: toMs(settings.execution.defaultBackoff),
      signal: kind === 'startup' ? this.#tasks.signal : new AbortController().signal,
      args: { settings, memo, logger, client: this.#clientIn(undefined, this.#end.signal) },
    })
  }

  #createSession(): Session {
    const { settings } = this.#blueprint
    return createSession({
      transport: this.#connected().transport,
      networking: settings.networking,
      clock: this.#clock,
      userAgent: `kopf/${packageVersion()}`,
      signal: this.#end.signal,
      onRetry: ({ call, attempt, error, delayMs }) =>
        this.#logger.warn(
          `Request attempt ${attempt} failed; will retry in ${(delayMs / 1000).toFixed(1)} seconds: ${call.method} ${call.path} -> ${error.message}`,
        ),
    })
  }

  #clientIn(namespace: string | undefined, signal: AbortSignal) {
    const session: Session = {
      request: (call, signal) => this.#session().request(call, signal),
      stream: (call, signal) => this.#session().stream(call, signal),
    }
    return createClient({
      session,
      resolve: (like) => this.#insights.resolve(like),
      namespace,
      signal,
    })
  }

  #createRuntime(): Runtime {
    const { settings, lifecycle, memo } = this.#blueprint
    const session = this.#session()
    const poster = createPoster({
      session,
      clock: this.#clock,
      settings: settings.posting,
      logger: this.#logger,
      defaultNamespace: () => this.#connected().defaultNamespace,
    })
    this.#poster = poster
    const sink = createPostingSink(this.#sink, { poster, settings: settings.posting })
    const warned = new Set<string>()
    const runtime: Runtime = {
      session,
      settings,
      clock: this.#clock,
      random: Math.random,
      sink,
      logger: this.#logger,
      lifecycle: this.#options.lifecycle ?? lifecycle,
      watchOf: (memory) => this.#watchdog.watchOf(() => runtime.queue.excuse(memory)),
      queue: new KeyedQueue<Memory, Arrival>((memory, arrivals) => processObject(runtime, memory, arrivals), {
        limit: () => settings.queueing.workerLimit ?? Infinity,
        capacity: mostWaitingEvents,
        isDispensable: ({ type }) => type === 'seen',
        supersedes: (next, waiting) => supersedes(next, waiting),
      }),
      alarms: new Alarms<Memory>(
        this.#clock,
        (memory) => runtime.queue.put(memory, { type: 'wake' }),
        this.#tasks.signal,
      ),
      signal: this.#handlers.signal,
      writing: this.#writes.signal,
      stopping: this.#tasks.signal,
      clientIn: (namespace) => this.#clientIn(namespace, this.#writes.signal),
      recorderOf: (body) => createRecorder({ poster, settings: settings.posting }, body),
      makeMemo: () => copyMemo(memo),
      warnOnce: (resource, topic, message) => {
        const key = `${formatResource(resource)}/${topic}`
        if (!warned.has(key)) this.#logger.warn(`${message} (${formatResource(resource)})`)
        warned.add(key)
      },
    }
    this.#queue = runtime.queue
    return runtime
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

/** Of states that nobody spies on, only the last one matters; being woken twice is being woken once. */
function supersedes(next: Arrival, waiting: Arrival): boolean {
  if (next.type === 'wake') return waiting.type === 'wake'
  return next.type === 'seen' && waiting.type === 'seen' && !next.isSpied
}

/** Every object gets a copy of its own, one level deep; of classes too. */
function copyMemo(memo: object): object {
  return Object.assign(Object.create(Object.getPrototypeOf(memo) as object | null) as object, memo)
}
