/**
 * The process of the operator in `kopf dev`: apart from the server and the files, so that an operator that crashes, blocks its event
 * loop or calls `process.exit` takes nothing with it. Started and controlled by operator-child.ts, by messages. One process runs
 * one operator, once.
 */
import { ConnectionInfo, type ConnectionInfoOptions } from '../../client/credentials.ts'
import { toCrds } from '../../kube/crd.ts'
import type { CustomResource } from '../../kube/resources.ts'
import { Operator, type RunningOperator, type RunOptions } from '../../operator.ts'
import { toMs } from '../../util/duration.ts'
import type { LogSink } from '../../util/log.ts'
import { loginByOptions } from '../cluster-options.ts'
import type { Compiled } from '../compile.ts'
import type { Display } from '../display/display.ts'
import { describeFailure, toRunError } from '../failures.ts'
import { CommandGuard } from '../guard.ts'
import { importOperator } from '../load.ts'
import { CommandLogging } from '../logging-options.ts'
import { catchStrayErrors } from '../stray-errors.ts'
import type { CompiledAnswer, FromOperator, LoadRequest, OperatorSetup, ToOperator } from './messages.ts'

/** The author of a file that was saved does not wait for a handler of the old one: the next operator calls it again. */
const handlersMs = 300

class OperatorProcess {
  #setup!: OperatorSetup
  #logging!: CommandLogging
  #operator: Operator | undefined
  #running: RunningOperator | undefined
  #display: Display | undefined
  #isEnding = false
  readonly #warmingUp = new AbortController()
  readonly #starting = new AbortController()
  readonly #compiling = new Map<number, (answer: CompiledAnswer) => void>()

  async take(message: ToOperator): Promise<void> {
    if (message.type === 'prepare') this.#prepare(message.setup)
    else if (message.type === 'load') await this.#load(message.request)
    else if (message.type === 'start') await this.#start()
    else if (message.type === 'stop') await this.#stop()
    else this.#compiling.get(message.number)?.(message.answer)
  }

  async fail(error: unknown): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    await this.#endRun()
    leave({ type: 'failed', problem: describeFailure(toRunError(error)) }, 1)
  }

  #prepare(setup: OperatorSetup): void {
    process.setSourceMapsEnabled(true)
    this.#setup = setup
    this.#logging = new CommandLogging(setup.logging)
    new CommandGuard(this.#logging, { endsWithParent: true })
    catchStrayErrors(this.#logging.sink, () => void this.fail('The operator has stopped because of the error above.'))
    if (setup.embedded !== undefined) warmUp(setup.embedded, this.#warmingUp.signal).catch(() => {})
  }

  async #load({ entry, targets }: LoadRequest): Promise<void> {
    this.#warmingUp.abort()
    const { imports } = (await import(entry)) as Compiled
    this.#operator = await importOperator(targets, imports)
    const { resources, registry } = this.#operator
    const crds = this.#setup.defines ? toCrds(resources as readonly CustomResource<object>[]) : []
    send({ type: 'loaded', operator: { crds, handlers: registry.handlers.length } })
  }

  async #start(): Promise<void> {
    this.#display = await createDisplay(this.#logging)
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
      ...(connection && { connection }),
      ...(this.#display && { observer: this.#display.account }),
    }
  }

  async #stop(): Promise<void> {
    send({ type: 'stopping' })
    if (this.#isEnding) return
    this.#isEnding = true
    await this.#endRun()
    leave({ type: 'stopped' }, 0)
  }

  /** What goes wrong on the way out is in the log, and must not keep the next operator from its start. */
  async #endRun(): Promise<void> {
    const queueing = this.#operator?.settings.queueing
    if (queueing && toMs(queueing.exitTimeout) > handlersMs) queueing.exitTimeout = handlersMs / 1000
    this.#display?.fold()
    this.#starting.abort()
    await this.#running?.stop().catch(() => {})
    this.#display?.end()
  }

  /** By the parent: it watches the file from then on, and removes what was compiled. */
  async #compile(url: URL): Promise<URL> {
    const number = this.#compiling.size
    const answered = new Promise<CompiledAnswer>((resolve) => this.#compiling.set(number, resolve))
    send({ type: 'compile', number, url: url.href })
    const answer = await answered
    if ('problem' in answer) throw new Error(answer.problem)
    return new URL(answer.url)
  }
}

/**
 * Runs an operator without effect, once: Node loads modules and compiles functions when they are first used, which takes longer than
 * all else of a reload. Ended when there is something to load. Only on the embedded server: a cluster gets no requests for it.
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
  return logging.wantsDisplay ? (await import('../display/show.ts')).createDelayDisplays()() : undefined
}

function send(message: FromOperator): void {
  process.send?.(message)
}

/** At once after the last word: timers and sockets of the user may go on for ever. */
function leave(message: FromOperator, code: number): void {
  if (process.send === undefined) process.exit(code)
  process.send(message, () => process.exit(code))
}

const own = new OperatorProcess()
process.on('message', (message: ToOperator) => {
  own.take(message).catch((error) => own.fail(error))
})
// Without its parent, the process has no server and cannot be stopped by a message.
process.once('disconnect', () => process.exit(1))
// Ctrl-C of a terminal reaches parent and child: the parent tells the child to stop.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
