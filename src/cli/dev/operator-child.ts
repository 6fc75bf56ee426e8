/**
 * The parent's side of one operator process of `kopf dev`: starts it in advance, so that a reload does not wait for the process, then loads files,
 * starts and stops the operator. The program of the process is operator-process.ts.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { KopfError } from '../../errors.ts'
import { systemClock } from '../../util/async/clock.ts'
import { withTimeout } from '../../util/async/with-timeout.ts'
import { ownProgram } from '../../util/process/package-files.ts'
import type {
  CompiledAnswer,
  FromOperator,
  LoadedOperator,
  LoadRequest,
  OperatorSetup,
  ToOperator,
} from './messages.ts'

/** If the process does not acknowledge the stop request within this time, its event loop is blocked. */
const acknowledgeMs = 1000
/** The time limit for the list of objects. */
const listingMs = 10_000
/** The time limit for the address of the dashboard. */
const loginUrlMs = 2000
/** The time limit for a stop: a daemon that does not end must not delay the next operator. */
const stoppingMs = 3000

export interface OperatorChildOptions {
  readonly setup: OperatorSetup
  readonly compile: (url: URL) => Promise<URL>
  /** Called when the event loop of the process has been blocked for some seconds. */
  readonly onBlocked: () => void
  /** Called with output that the process does not print itself. */
  readonly onOutput: (text: string) => void
}

/** How a stop ended: the operator stopped, it did not end in time and was killed, or it blocked its event loop and was killed. */
export type StopResult = 'stopped' | 'too-slow' | 'blocked'

type ChildMessage<T extends FromOperator['type']> = Extract<FromOperator, { readonly type: T }>

export class OperatorChild {
  /** Resolves when the process has exited, or has failed and is about to exit: with the reason, unless a stop was requested. */
  readonly ended: Promise<string | undefined>
  readonly #child: ChildProcess
  readonly #options: OperatorChildOptions
  readonly #listeners = new Map<FromOperator['type'], (message: FromOperator) => void>()
  readonly #ready = this.#next('ready')
  #isStopRequested = false
  #isBlocked = false

  constructor(options: OperatorChildOptions) {
    this.#options = options
    this.#child = fork(ownProgram('cli/dev/operator-process'), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
      execArgv: process.execArgv.map(withFreePort).filter((flag) => !/^--(cpu-prof|heap-prof)/.test(flag)),
    })
    process.once('exit', this.#kill)
    const exited = new Promise<string>((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(describeExit(code, signal)))
      this.#child.once('error', (error) => resolve(`The process of the operator cannot be started: ${error.message}`))
    })
    const failed = this.#next('failed').then(({ problem }) => problem)
    this.ended = Promise.race([failed, exited]).then((why) => (this.#isStopRequested ? undefined : why))
    void exited.then(() => process.off('exit', this.#kill))
    this.#child.on('message', (message: FromOperator) => this.#receive(message))
    this.#send({ type: 'prepare', setup: options.setup })
  }

  /** Whether the process runs and can receive messages. */
  get isAlive(): boolean {
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

  /** Resolves when all existing objects have been seen, or when the operator has ended. */
  async ready(): Promise<void> {
    await Promise.race([this.#ready, this.ended])
  }

  /** Whether the process has reported that its event loop is blocked. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** The objects of the operator in words; undefined if the process does not answer. */
  async listObjects(): Promise<string | undefined> {
    let text: string | undefined
    const answered = this.#next('objects').then((answer) => {
      text = answer.text
    })
    this.#send({ type: 'list-objects' })
    await withTimeout(systemClock, listingMs, Promise.race([answered, this.ended.then(() => {})]))
    return text
  }

  /** A new address that logs in to the dashboard of the operator once; undefined if there is none, or if the process does not answer. */
  async createLoginUrl(): Promise<string | undefined> {
    let url: string | undefined
    const answered = this.#next('login-url').then((answer) => {
      url = answer.url
    })
    this.#send({ type: 'create-login-url' })
    await withTimeout(systemClock, loginUrlMs, Promise.race([answered, this.ended.then(() => {})]))
    return url
  }

  /** Whether the output of the process is passed to `onOutput` instead of being printed. */
  holdOutput(isHeld: boolean): void {
    this.#send({ type: 'hold-output', isHeld })
  }

  /** Stops the operator. Kills its process if the operator does not stop in time, and at once if its event loop is blocked. */
  async stop(): Promise<StopResult> {
    this.#isStopRequested = true
    if (this.#isBlocked && this.isAlive) {
      this.#kill()
      return 'blocked'
    }
    let [isStopping, hasEnded] = [!this.isAlive, !this.isAlive]
    const stopped = Promise.race([this.#next('stopped'), this.ended]).then(() => {
      isStopping = hasEnded = true
    })
    const stopping = this.#next('stopping').then(() => {
      isStopping = true
    })
    this.#send({ type: 'stop' })
    await withTimeout(systemClock, acknowledgeMs, Promise.race([stopping, stopped]))
    if (isStopping) await withTimeout(systemClock, stoppingMs, stopped)
    if (hasEnded) return 'stopped'
    this.#kill()
    return isStopping ? 'too-slow' : 'blocked'
  }

  /** Kills the process immediately. */
  kill(): void {
    this.#isStopRequested = true
    this.#kill()
  }

  readonly #kill = (): void => {
    this.#child.kill('SIGKILL')
  }

  #next<T extends FromOperator['type']>(type: T): Promise<ChildMessage<T>> {
    return new Promise((resolve) => this.#listeners.set(type, (message) => resolve(message as ChildMessage<T>)))
  }

  async #unlessEnded<T>(answer: Promise<T>): Promise<T> {
    const ended = this.ended.then((why) => {
      throw new KopfError('KOPF_LOAD', why ?? 'The operator was stopped')
    })
    return await Promise.race([answer, ended])
  }

  #receive(message: FromOperator): void {
    if (message.type === 'compile') void this.#compile(message)
    else if (message.type === 'output') this.#options.onOutput(message.text)
    else if (message.type === 'blocked') this.#setBlocked(message.isBlocked)
    else this.#listeners.get(message.type)?.(message)
  }

  #setBlocked(isBlocked: boolean): void {
    this.#isBlocked = isBlocked
    if (isBlocked) this.#options.onBlocked()
  }

  async #compile({ number, url }: ChildMessage<'compile'>): Promise<void> {
    const answer = await this.#options.compile(new URL(url)).then(
      (compiled): CompiledAnswer => ({ url: compiled.href }),
      (error: Error): CompiledAnswer => ({ problem: error.message }),
    )
    this.#send({ type: 'compiled', number, answer })
  }

  /** Ignores a process that has exited: `ended` reports that. */
  #send(message: ToOperator): void {
    if (this.isAlive) this.#child.send(message, () => {})
  }
}

/** The parent's debugger port is in use, so that the child uses any free port, which Node prints. */
function withFreePort(flag: string): string {
  return /^--inspect(-brk|-wait)?(=|$)/.test(flag) ? '--inspect=0' : flag
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  // Node aborts if the heap is full. With a shell in between, the signal becomes the exit code 134.
  if (signal === 'SIGABRT' || code === 134) {
    return 'The process of the operator was aborted. Node does so when its memory is full: see the lines above.'
  }
  if (signal === 'SIGKILL') {
    return 'The process of the operator was killed, by another program or by the system for lack of memory.'
  }
  if (signal !== null) return `The process of the operator was ended by ${signal}.`
  return `The process of the operator has ended by itself, with exit code ${code}.`
}
