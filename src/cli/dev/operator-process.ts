/**
 * The program of an operator process in `kopf dev`. An operator that crashes, blocks its event loop or calls `process.exit` does not affect
 * the session and the embedded server. Controlled by messages of operator-child.ts. One process runs one operator, once.
 */
import { ConnectionInfo, type ConnectionInfoOptions } from '../../client/auth/connection-info.ts'
import { KopfError } from '../../errors.ts'
import { toCrds } from '../../kube/crds/crd.ts'
import type { CustomResource } from '../../kube/resources/resources.ts'
import { Operator, type RunningOperator, type RunOptions } from '../../operator.ts'
import { hasWebhooks, internalsOf } from '../../operator-internals.ts'
import { dashboardOf } from '../../run/options.ts'
import { systemClock } from '../../util/async/clock.ts'
import type { LogSink } from '../../util/log/log.ts'
import { toMs } from '../../util/text/duration.ts'
import { toCodeFrame } from '../code-frame.ts'
import type { Display } from '../display/display.ts'
import { describeFailure, toRunError } from '../exit.ts'
import type { CompiledFiles } from '../loading/compile.ts'
import { importOperator } from '../loading/import-operator.ts'
import { loginByOptions } from '../options/cluster.ts'
import { CommandLogging } from '../options/logging.ts'
import { CommandGuard } from '../run/guard-thread.ts'
import { catchStrayErrors } from '../run/stray-errors.ts'
import { redirectOutput } from '../terminal.ts'
import type { CompiledAnswer, FromOperator, LoadRequest, OperatorSetup, ToOperator } from './messages.ts'

/** The exit timeout of handlers: a reload must be fast, and the next operator calls an interrupted handler again. */
const handlersMs = 300

class OperatorProcess {
  #setup!: OperatorSetup
  #logging!: CommandLogging
  #operator: Operator | undefined
  #running: RunningOperator | undefined
  #display: Display | undefined
  #isEnding = false
  #heldOutput: Disposable | undefined
  readonly #warmingUp = new AbortController()
  readonly #starting = new AbortController()
  readonly #compiling = new Map<number, (answer: CompiledAnswer) => void>()

  async receive(message: ToOperator): Promise<void> {
    if (message.type === 'prepare') this.#prepare(message.setup)
    else if (message.type === 'load') await this.#load(message.request)
    else if (message.type === 'start') await this.#start()
    else if (message.type === 'stop') await this.#stop()
    else if (message.type === 'list-objects') await this.#listObjects()
    else if (message.type === 'create-login-url') this.#createLoginUrl()
    else if (message.type === 'hold-output') this.#holdOutput(message.isHeld)
    else this.#compiling.get(message.number)?.(message.answer)
  }

  async fail(error: unknown): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    await this.#endRun()
    sendAndExit({ type: 'failed', problem: describeProblem(error) }, 1)
  }

  #prepare(setup: OperatorSetup): void {
    process.setSourceMapsEnabled(true)
    this.#setup = setup
    this.#logging = new CommandLogging(setup.logging)
    const onBlocked = (isBlocked: boolean) => send({ type: 'blocked', isBlocked })
    new CommandGuard(this.#logging, { endsWithParent: true, onBlocked })
    catchStrayErrors(this.#logging.sink, (error) => void this.fail(describeLogged(error)))
    if (setup.embedded !== undefined) warmUp(setup.embedded, this.#warmingUp.signal).catch(() => {})
  }

  async #load({ entry, targets }: LoadRequest): Promise<void> {
    this.#warmingUp.abort()
    const { imports } = (await import(entry)) as CompiledFiles
    this.#operator = await importOperator(targets, imports)
    const { resources } = this.#operator
    const { handlers } = internalsOf(this.#operator).registry
    const crds = this.#setup.appliesCrds ? toCrds(resources as readonly CustomResource<object>[]) : []
    send({ type: 'loaded', operator: { crds, handlers: handlers.length, hasWebhooks: hasWebhooks(this.#operator) } })
  }

  async #start(): Promise<void> {
    this.#display = await createDisplay(this.#logging)
    this.#display?.hold(this.#heldOutput !== undefined)
    // Only this machine can connect; the session of kopf dev has its own address, which stays over restarts.
    if (this.#setup.hasDashboard) this.#operator!.settings.dashboard.address = 'http://127.0.0.1:0'
    // On by default, on a free port; a setting of the operator has precedence.
    this.#operator!.settings.dashboard.address ??= 'http://127.0.0.1:0'
    const running = await this.#operator!.start(this.#runOptions())
    this.#running = running
    send({ type: 'started' })
    running.ready.then(
      () => {
        this.#display?.listed()
        send({ type: 'ready' })
      },
      () => {},
    )
    await running.done
  }

  #runOptions(): RunOptions {
    const { run, embedded, cluster } = this.#setup
    const connection = embedded === undefined ? loginByOptions(cluster) : new ConnectionInfo(embedded)
    return {
      ...run,
      logging: this.#logging.sink,
      signal: this.#starting.signal,
      loadWorkerModule: (url) => this.#compile(url),
      logsDashboard: false,
      ...(connection && { connection }),
      ...(this.#display && { observer: this.#display.progress }),
    }
  }

  #createLoginUrl(): void {
    send({ type: 'login-url', url: this.#running && dashboardOf(this.#running)?.createLoginUrl() })
  }

  #holdOutput(isHeld: boolean): void {
    this.#display?.hold(isHeld)
    if (isHeld) this.#heldOutput ??= redirectOutput((text) => send({ type: 'output', text }))
    else {
      this.#heldOutput?.[Symbol.dispose]()
      this.#heldOutput = undefined
    }
  }

  /** A failure is an answer as well: it must not stop the operator. */
  async #listObjects(): Promise<void> {
    const { embedded, cluster: access, run: scope } = this.#setup
    const listing = async () => {
      const [{ CommandCluster }, { listObjectStates }] = await Promise.all([
        import('../cluster.ts'),
        import('./object-states.ts'),
      ])
      await using cluster = await CommandCluster.open(access, embedded && new ConnectionInfo(embedded))
      return await listObjectStates({ operator: this.#operator!, cluster, scope, nowMs: systemClock.now() })
    }
    const text = await listing().catch((error) => `Cannot list the objects: ${describeFailure(error)}`)
    send({ type: 'objects', text })
  }

  async #stop(): Promise<void> {
    send({ type: 'stopping' })
    if (this.#isEnding) return
    this.#isEnding = true
    await this.#endRun()
    sendAndExit({ type: 'stopped' }, 0)
  }

  /** Ignores errors of the stop: they are logged, and must not prevent the start of the next operator. */
  async #endRun(): Promise<void> {
    const queueing = this.#operator?.settings.queueing
    if (queueing && toMs(queueing.exitTimeout) > handlersMs) queueing.exitTimeout = handlersMs / 1000
    this.#display?.hide()
    this.#starting.abort()
    await this.#running?.stop().catch(() => {})
    this.#display?.end()
  }

  /** The parent compiles the module: it also watches the file and removes the compiled version later. */
  async #compile(url: URL): Promise<URL> {
    const number = this.#compiling.size
    const answered = new Promise<CompiledAnswer>((resolve) => this.#compiling.set(number, resolve))
    send({ type: 'compile', number, url: url.href })
    const answer = await answered
    if ('problem' in answer) throw new Error(answer.problem)
    return new URL(answer.url)
  }
}

/** The failure in words. A file that throws while it is loaded is shown with its source lines; a failed activity is in the log already. */
function describeProblem(error: unknown): string {
  const { code, cause } = error instanceof KopfError ? error : { code: undefined, cause: undefined }
  if (code === 'KOPF_ACTIVITY') return describeLogged(cause)
  const problem = describeFailure(toRunError(error))
  const frame = code === 'KOPF_LOAD' ? toCodeFrame(cause, process.cwd()) : undefined
  return frame === undefined ? problem : `${problem}\n${frame}`
}

/** Refers to the log line of the error, and shows the source lines where the error was thrown. */
function describeLogged(error: unknown): string {
  const frame = toCodeFrame(error, process.cwd())
  const what = 'The operator has stopped because of the error above'
  return frame === undefined ? `${what}.` : `${what}:\n${frame}`
}

/**
 * Runs an operator without effects once: Node loads modules and compiles functions at their first use, which would take most of the time of a
 * reload. Aborted when files arrive. Only on the embedded server, to avoid requests to a real cluster.
 */
async function warmUp(embedded: ConnectionInfoOptions, signal: AbortSignal): Promise<void> {
  const operator = new Operator()
  operator.on.event('namespaces', () => {})
  const logging: LogSink = { minimumLevel: 'fatal', log() {} }
  const connection = new ConnectionInfo(embedded)
  await using running = await operator.start({ connection, standalone: true, logging, signal })
  await running.ready
}

async function createDisplay(logging: CommandLogging): Promise<Display | undefined> {
  return logging.wantsDisplay ? (await import('../display/display.ts')).createDelayDisplays()() : undefined
}

function send(message: FromOperator): void {
  process.send?.(message)
}

/** Exits right after the message is sent: timers and sockets of the user could keep the process running. */
function sendAndExit(message: FromOperator, code: number): void {
  if (process.send === undefined) process.exit(code)
  process.send(message, () => process.exit(code))
}

const operatorProcess = new OperatorProcess()
process.on('message', (message: ToOperator) => {
  operatorProcess.receive(message).catch((error) => operatorProcess.fail(error))
})
// Without its parent, the process has no server and cannot receive a stop request.
process.once('disconnect', () => process.exit(1))
// Ctrl-C in a terminal signals parent and child. The child ignores the signal; the parent sends a stop request.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
