/**
 * Runs operators one after another, each in its own process: starts the new one when the old one has stopped. Starts the process of the next
 * one in advance. Used by dev-session.ts.
 */
import { fileURLToPath } from 'node:url'
import type { LoadTarget } from '../loading/load.ts'
import { WorkerModules } from '../loading/worker-modules.ts'
import { writeLog } from '../terminal.ts'
import type { LoadedOperator, OperatorSetup } from './messages.ts'
import { OperatorChild } from './operator-child.ts'
import type { Bundle } from './rebuild.ts'

export interface OperatorRunsOptions {
  readonly setup: OperatorSetup
  readonly targets: readonly LoadTarget[]
  readonly folder: string
  /** Called with the file of a module of `inWorker`, which is not in the bundle. */
  readonly onWorkerFile: (path: string) => void
  /** Called with the reason when the running operator has ended without a stop request. */
  readonly onEnd: (problem: string) => void
  /** Called when the old operator did not stop in time, or was blocked, and was killed. */
  readonly onKill: (reason: 'too-slow' | 'blocked') => void
  /** Called when an operator has blocked its event loop for some seconds. */
  readonly onBlocked: () => void
}

interface Prepared {
  readonly child: OperatorChild
  readonly workers: WorkerModules
}

/** A loaded operator in its process. */
export interface DevOperatorRun extends Prepared {
  readonly bundle: Bundle
  readonly operator: LoadedOperator
}

export class OperatorRuns implements AsyncDisposable {
  readonly #options: OperatorRunsOptions
  #spare: Prepared | undefined
  #current: DevOperatorRun | undefined
  /** All processes that have not ended. */
  readonly #children = new Set<OperatorChild>()
  #isOutputHeld = false

  constructor(options: OperatorRunsOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#current !== undefined
  }

  /** The process of the running operator. */
  get current(): OperatorChild | undefined {
    return this.#current?.child
  }

  /** Whether the output of all processes, also of those that are started later, goes through this process, which holds it back. */
  holdOutput(isHeld: boolean): void {
    this.#isOutputHeld = isHeld
    for (const child of this.#children) child.holdOutput(isHeld)
  }

  /** Starts the process of the next operator in advance. */
  prepare(): void {
    this.#spare ??= this.#create()
  }

  /** Loads a bundle and takes ownership of it. Rejects if the files have an error, and when the signal is aborted. */
  async load(bundle: Bundle, signal: AbortSignal): Promise<DevOperatorRun> {
    const { child, workers } = this.#acquire()
    try {
      const { entry } = bundle
      const operator = await untilAborted(signal, child.load({ entry, targets: this.#options.targets }))
      return { child, workers, bundle, operator }
    } catch (error) {
      child.kill()
      await discard({ bundle, workers })
      throw error
    }
  }

  /** Stops the running operator and starts this one. If it does not start, rejects, and no operator runs. */
  async replace(next: DevOperatorRun, signal: AbortSignal): Promise<void> {
    await this.stop()
    try {
      await untilAborted(signal, next.child.start())
    } catch (error) {
      await next.child.stop()
      await discard(next)
      throw error
    }
    this.#current = next
    void next.child.ended.then((problem) => {
      if (this.#current !== next) return
      this.#current = undefined
      void discard(next)
      this.#options.onEnd(problem ?? '')
    })
  }

  /** Discards a loaded operator that will not be started. */
  async abandon({ child, ...rest }: DevOperatorRun): Promise<void> {
    child.kill()
    await discard(rest)
  }

  async stop(): Promise<void> {
    const current = this.#current
    this.#current = undefined
    if (current === undefined) return
    const result = await current.child.stop()
    if (result !== 'stopped') this.#options.onKill(result)
    await discard(current)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#spare?.child.kill()
    this.#spare = undefined
    await this.stop()
  }

  #acquire(): Prepared {
    const spare = this.#spare
    this.#spare = undefined
    return spare?.child.isAlive ? spare : this.#create()
  }

  #create(): Prepared {
    const { setup, folder, onWorkerFile, onBlocked } = this.#options
    const workers = new WorkerModules(folder)
    const compile = (url: URL) => {
      onWorkerFile(fileURLToPath(url))
      return workers.load(url)
    }
    const child = new OperatorChild({ setup, compile, onBlocked, onOutput: writeLog })
    this.#children.add(child)
    void child.ended.then(() => this.#children.delete(child))
    if (this.#isOutputHeld) child.holdOutput(true)
    return { child, workers }
  }
}

async function discard({ bundle, workers }: Pick<DevOperatorRun, 'bundle' | 'workers'>): Promise<void> {
  await bundle[Symbol.asyncDispose]()
  await workers[Symbol.asyncDispose]()
}

/** Settles as the work does, or rejects as soon as the signal is aborted. */
function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
