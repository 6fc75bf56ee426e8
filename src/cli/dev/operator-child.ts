/**
 * The process of one operator, seen from `kopf dev`: started in advance, so that the start of a process is no part of a reload; then
 * given files to load, started and stopped. Its program is operator-process.ts.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { KopfError } from '../../errors.ts'
import { systemClock } from '../../util/clock.ts'
import { ownProgram } from '../../util/package-files.ts'
import { within } from '../../util/within.ts'
import type {
  CompiledAnswer,
  FromOperator,
  LoadedOperator,
  LoadRequest,
  OperatorSetup,
  ToOperator,
} from './messages.ts'

/** An event loop that does not take up the order to stop within so long is blocked. */
const answerMs = 1000
/** A daemon that does not end must not keep the next operator from its start. */
const stoppingMs = 3000

export interface OperatorChildOptions {
  readonly setup: OperatorSetup
  readonly compile: (url: URL) => Promise<URL>
}

type Message<T extends FromOperator['type']> = Extract<FromOperator, { readonly type: T }>

export class OperatorChild {
  /** Resolves when the process is gone, or has failed and is about to go: with the reason where no stop was requested. */
  readonly ended: Promise<string | undefined>
  readonly #child: ChildProcess
  readonly #options: OperatorChildOptions
  readonly #expected = new Map<FromOperator['type'], (message: FromOperator) => void>()
  readonly #ready = this.#next('ready')
  #isTold = false

  constructor(options: OperatorChildOptions) {
    this.#options = options
    this.#child = fork(ownProgram('cli/dev/operator-process'), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
      execArgv: process.execArgv.map(onOwnPort).filter((flag) => !/^--(cpu-prof|heap-prof)/.test(flag)),
    })
    process.once('exit', this.#kill)
    const exited = new Promise<string>((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(describeExit(code, signal)))
      this.#child.once('error', (error) => resolve(`The process of the operator cannot be started: ${error.message}`))
    })
    const failed = this.#next('failed').then(({ problem }) => problem)
    this.ended = Promise.race([failed, exited]).then((why) => (this.#isTold ? undefined : why))
    void exited.then(() => process.off('exit', this.#kill))
    this.#child.on('message', (message: FromOperator) => this.#take(message))
    this.#send({ type: 'prepare', setup: options.setup })
  }

  /** Whether it can still be used. */
  get isThere(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null && this.#child.connected
  }

  async load(request: LoadRequest): Promise<LoadedOperator> {
    const loaded = this.#next('loaded')
    this.#send({ type: 'load', request })
    return (await this.#unlessEnded(loaded)).operator
  }

  async start(): Promise<void> {
    const started = this.#next('started')
    this.#send({ type: 'start' })
    await this.#unlessEnded(started)
  }

  /** Resolves when all objects that are there have been seen, or the operator has ended before. */
  async ready(): Promise<void> {
    await Promise.race([this.#ready, this.ended])
  }

  /** Answers whether the operator has stopped by itself; otherwise its process is killed. */
  async stop(): Promise<boolean> {
    this.#isTold = true
    let [hasHeard, hasEnded] = [!this.isThere, !this.isThere]
    const stopped = Promise.race([this.#next('stopped'), this.ended]).then(() => {
      hasHeard = hasEnded = true
    })
    const stopping = this.#next('stopping').then(() => {
      hasHeard = true
    })
    this.#send({ type: 'stop' })
    await within(systemClock, answerMs, Promise.race([stopping, stopped]))
    if (hasHeard) await within(systemClock, stoppingMs, stopped)
    if (!hasEnded) this.#kill()
    return hasEnded
  }

  /** Kills the process at once. */
  kill(): void {
    this.#isTold = true
    this.#kill()
  }

  readonly #kill = (): void => {
    this.#child.kill('SIGKILL')
  }

  #next<T extends FromOperator['type']>(type: T): Promise<Message<T>> {
    return new Promise((resolve) => this.#expected.set(type, (message) => resolve(message as Message<T>)))
  }

  async #unlessEnded<T>(answer: Promise<T>): Promise<T> {
    const ended = this.ended.then((why) => {
      throw new KopfError('KOPF_LOAD', why ?? 'The operator was stopped')
    })
    return await Promise.race([answer, ended])
  }

  #take(message: FromOperator): void {
    if (message.type === 'compile') void this.#compile(message)
    else this.#expected.get(message.type)?.(message)
  }

  async #compile({ number, url }: Message<'compile'>): Promise<void> {
    const answer = await this.#options.compile(new URL(url)).then(
      (compiled): CompiledAnswer => ({ url: compiled.href }),
      (error: Error): CompiledAnswer => ({ problem: error.message }),
    )
    this.#send({ type: 'compiled', number, answer })
  }

  /** A process that is gone hears nothing: that it is gone is known by its end. */
  #send(message: ToOperator): void {
    if (this.isThere) this.#child.send(message, () => {})
  }
}

/** A debugger has one port; those of the children are free ones, which Node prints. */
function onOwnPort(flag: string): string {
  return /^--inspect(-brk|-wait)?(=|$)/.test(flag) ? '--inspect=0' : flag
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `The process of the operator was ended by ${signal}.`
  return `The process of the operator has ended by itself, with exit code ${code}.`
}
