/**
 * One thread, from the operator's side: started here, runs one call at a time, and may die of it. The program that runs in
 * it is thread.ts. Owned by pool.ts. The only file that starts threads.
 */
import { Worker } from 'node:worker_threads'
import { describeError } from '../../core/handling/describe-error.ts'
import { KopfError } from '../../errors.ts'
import { ownProgram } from '../../util/package-files.ts'
import { Conversation } from './conversation.ts'
import type { FromThread, LoadedModule, ThreadOptions, ToThread } from './messages.ts'
import { describeModule } from './module-files.ts'

export class WorkerThread {
  readonly #worker: Worker
  readonly #sent = new Int32Array(new SharedArrayBuffer(4))
  #calls = 0
  #conversation: Conversation | undefined
  #module: LoadedModule | undefined
  /** What the platform said of its end. */
  #problem: unknown
  #isEnding = false
  #isSpent = false

  /** `onExit` is called once, whyever it has ended. */
  constructor(onExit: (thread: WorkerThread) => void) {
    const options: ThreadOptions = { sent: this.#sent, sourceMaps: process.sourceMapsEnabled }
    this.#worker = new Worker(ownProgram('features/workers/thread'), { name: 'kopf', workerData: options })
    this.#worker.on('message', (message: FromThread) => this.#hear(message))
    this.#worker.on('messageerror', (error) => this.#conversation?.fail(error))
    this.#worker.on('error', (error) => {
      this.#problem = error
    })
    this.#worker.on('exit', (code) => {
      this.#die(code)
      onExit(this)
    })
    this.#worker.unref()
  }

  /** It has ended, or must not be used for another call. */
  get isSpent(): boolean {
    return this.#isSpent
  }

  get isBusy(): boolean {
    return this.#conversation !== undefined
  }

  /** The process stays alive for a call, not for a thread that waits for one. */
  async run(module: LoadedModule, args: object): Promise<unknown> {
    const conversation = new Conversation(++this.#calls, args, (message) => this.#send(message))
    this.#conversation = conversation
    this.#module = module
    this.#worker.ref()
    try {
      conversation.begin(module)
      return await conversation.outcome
    } finally {
      this.#conversation = undefined
      this.#worker.unref()
    }
  }

  /** At once, whatever it does. A call that is under way then never comes to an end: nobody waits for it any more. */
  async end(): Promise<void> {
    this.#isEnding = true
    await this.#worker.terminate()
  }

  /** Counted after it was sent: whoever sees the number finds the message. */
  #send(message: ToThread): void {
    this.#worker.postMessage(message)
    Atomics.add(this.#sent, 0, 1)
  }

  #hear(message: FromThread): void {
    if (message.type === 'ended' && 'thrown' in message) this.#isSpent ||= message.isSpent
    this.#conversation?.hear(message)
  }

  #die(code: number): void {
    this.#isSpent = true
    if (this.#isEnding || this.#conversation === undefined) return
    const why = this.#problem === undefined ? `it exited with the code ${code}` : describeError(this.#problem)
    const message = `Cannot finish ${describeModule(this.#module!)}: its worker thread has died: ${why}`
    this.#conversation.fail(new KopfError('KOPF_WORKER', message, { cause: this.#problem }))
  }
}
