/**
 * The operator's side of one worker thread: starts it, and runs one call at a time in it. The program in the thread is thread/main.ts. Owned by
 * pool.ts. The only file that starts worker threads.
 */
import { Worker } from 'node:worker_threads'
import { KopfError } from '../errors.ts'
import { describeError } from '../util/log/describe-error.ts'
import { isBuilt, ownThread } from '../util/process/package-files.ts'
import { WorkerCall } from './host-call.ts'
import type { FromThread, LoadedModule, ThreadOptions, ToThread } from './messages.ts'
import { describeModule } from './module-files.ts'

export class WorkerThread {
  readonly #worker: Worker
  readonly #sent = new Int32Array(new SharedArrayBuffer(4))
  #calls = 0
  #call: WorkerCall | undefined
  #module: LoadedModule | undefined
  /** The error event of the thread, if it died of an error. */
  #error: unknown
  #isTerminating = false
  #isUnusable = false

  /** Calls `onExit` once when the thread has ended, for any reason. */
  constructor(onExit: (thread: WorkerThread) => void) {
    // A program of `kopf build` maps its own stack traces and leaves those of worker modules to Node.
    const options: ThreadOptions = { sent: this.#sent, sourceMaps: isBuilt || process.sourceMapsEnabled }
    const { script, eval: isText } = ownThread('workers/thread/main')
    this.#worker = new Worker(script, { eval: isText, name: 'kopf', workerData: options })
    this.#worker.on('message', (message: FromThread) => this.#receive(message))
    this.#worker.on('messageerror', (error) => this.#call?.fail(error))
    this.#worker.on('error', (error) => {
      this.#error = error
    })
    this.#worker.on('exit', (code) => {
      this.#handleExit(code)
      onExit(this)
    })
    this.#worker.unref()
  }

  /** Whether the thread has ended or must not be used for another call. */
  get isUnusable(): boolean {
    return this.#isUnusable
  }

  get isBusy(): boolean {
    return this.#call !== undefined
  }

  /** Keeps the process alive during the call; an idle thread does not. */
  async run(module: LoadedModule, args: object): Promise<unknown> {
    const call = new WorkerCall(++this.#calls, args, (message) => this.#send(message))
    this.#call = call
    this.#module = module
    this.#worker.ref()
    try {
      call.start(module)
      return await call.outcome
    } finally {
      this.#call = undefined
      this.#worker.unref()
    }
  }

  /** Terminates the thread, even if it is busy. Its running call then never settles. */
  async terminate(): Promise<void> {
    this.#isTerminating = true
    await this.#worker.terminate()
  }

  /** Counts the message after sending it, so that a thread which sees the new count also finds the message. */
  #send(message: ToThread): void {
    this.#worker.postMessage(message)
    Atomics.add(this.#sent, 0, 1)
  }

  #receive(message: FromThread): void {
    if (message.type === 'ended' && 'thrown' in message) this.#isUnusable ||= message.isUnusable
    this.#call?.receive(message)
  }

  #handleExit(code: number): void {
    this.#isUnusable = true
    if (this.#isTerminating || this.#call === undefined) return
    const why = this.#error === undefined ? `it exited with the code ${code}` : describeError(this.#error)
    const message = `Cannot finish ${describeModule(this.#module!)}: its worker thread has died: ${why}`
    this.#call.fail(new KopfError('KOPF_WORKER', message, { cause: this.#error }))
  }
}
