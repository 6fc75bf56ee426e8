/**
 * One operator after another, each in a process of its own: the newest is started when the one before has stopped. The process of the
 * next one is started in advance. Used by workshop.ts, which knows when.
 */
import { fileURLToPath } from 'node:url'
import type { Target } from '../load.ts'
import { WorkerModules } from '../worker-modules.ts'
import type { LoadedOperator, OperatorSetup } from './messages.ts'
import { OperatorChild } from './operator-child.ts'
import type { Bundle } from './rebuild.ts'

export interface GenerationsOptions {
  readonly setup: OperatorSetup
  readonly targets: readonly Target[]
  readonly folder: string
  /** A module of `inWorker` is needed: it is not in the bundle. */
  readonly onWorkerFile: (path: string) => void
  /** The operator that runs has ended without a request to stop, and why. */
  readonly onEnd: (problem: string) => void
  /** The operator from before had to be killed. */
  readonly onKill: () => void
}

interface Prepared {
  readonly child: OperatorChild
  readonly workers: WorkerModules
}

/** Loaded, and not started. */
export interface Generation extends Prepared {
  readonly bundle: Bundle
  readonly operator: LoadedOperator
}

export class Generations implements AsyncDisposable {
  readonly #options: GenerationsOptions
  #spare: Prepared | undefined
  #current: Generation | undefined

  constructor(options: GenerationsOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#current !== undefined
  }

  /** Starts the process of the next operator, so that it is there when it is needed. */
  prepare(): void {
    this.#spare ??= this.#create()
  }

  /** Rejects with what is wrong with the files, and as soon as the signal is aborted. Owns the bundle. */
  async load(bundle: Bundle, signal: AbortSignal): Promise<Generation> {
    const { child, workers } = this.#take()
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

  /** Stops the one that runs and starts this one; rejects where it does not start, and then none runs. */
  async replace(next: Generation, signal: AbortSignal): Promise<void> {
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

  /** One that was loaded, and will not be started. */
  async drop({ child, ...rest }: Generation): Promise<void> {
    child.kill()
    await discard(rest)
  }

  async stop(): Promise<void> {
    const current = this.#current
    this.#current = undefined
    if (current === undefined) return
    if (!(await current.child.stop())) this.#options.onKill()
    await discard(current)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#spare?.child.kill()
    this.#spare = undefined
    await this.stop()
  }

  #take(): Prepared {
    const spare = this.#spare
    this.#spare = undefined
    return spare?.child.isThere ? spare : this.#create()
  }

  #create(): Prepared {
    const { setup, folder, onWorkerFile } = this.#options
    const workers = new WorkerModules(folder)
    const compile = (url: URL) => {
      onWorkerFile(fileURLToPath(url))
      return workers.load(url)
    }
    return { child: new OperatorChild({ setup, compile }), workers }
  }
}

async function discard({ bundle, workers }: Pick<Generation, 'bundle' | 'workers'>): Promise<void> {
  await bundle[Symbol.asyncDispose]()
  await workers[Symbol.asyncDispose]()
}

/** As the work, or a rejection as soon as the signal is aborted. */
function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
