/**
 * Guards the event loop with a thread: logs the handler that blocks it, and ends the process if a requested stop is blocked, since Node
 * delivers signals on the event loop. This file is the side of the main thread; loop-guard-thread.ts runs on the other thread
 * and calls `report` and `end` here while it interrupts the blocked code.
 */
import { closeSync } from 'node:fs'
import { isMainThread, Worker } from 'node:worker_threads'
import { callAfter, monotonicMs } from '../async/clock.ts'
import { createLogger, type Logger, type LoggingOptions, type LogSink } from '../log/log.ts'
import { currentCall, trackCalls } from './current-call.ts'
import { ownCode, ownThread } from './package-files.ts'

/** Indices into the memory that both threads share. */
export const cells = { beats: 0, handler: 1, isStopping: 2, limitMs: 3 } as const
/** The value of `limitMs` for no limit. */
export const noLimit = -1
export const beatMs = 500

/** The `workerData` of the thread. */
export interface GuardThreadOptions {
  readonly shared: Int32Array
  /** The format of the thread's own log lines. */
  readonly logging: LoggingOptions
  readonly endsWithParent: boolean
}

/** Messages to the thread: the number of a handler before its first call, or a new format of the thread's log lines. */
export type ToGuardThread =
  | { readonly type: 'handler'; readonly number: number; readonly title: string }
  | { readonly type: 'logging'; readonly logging: LoggingOptions }

/** Functions that the thread calls on the main thread, through the global `kopf.guard`. */
export interface GuardHooks {
  /** Logs the handler that blocks; false if the loop is no longer blocked. */
  report(beats: number): boolean
  /** Ends the process; false if the loop is no longer blocked. */
  end(beats: number, why: string): boolean
}

export interface LoopGuardOptions {
  readonly sink: LogSink
  /** The format of lines that the thread writes itself. Default: as `configureLogging` without options. */
  readonly logging?: LoggingOptions
  /** Whether the process ends with its parent process, also while the loop is blocked. Default: false. */
  readonly endsWithParent?: boolean
  /** How long a stop waits for a blocked loop; undefined for no limit. Called repeatedly, since settings may change. */
  readonly limitMs: () => number | undefined
  /** Called after a blocked loop was logged, while it is still blocked, and again when it turns. Must not wait for anything. */
  readonly onBlocked?: (isBlocked: boolean) => void
}

export interface LoopGuard extends Disposable {
  /** Reports a stop for another reason than a signal; the thread receives signals itself. */
  stopping(): void
  /** Changes the format of lines that the thread writes itself. */
  setLogging(logging: LoggingOptions): void
}

const hooksKey: unique symbol = Symbol.for('kopf.guard') as never

/** Returns a guard without effect on worker threads: only the main thread can be interrupted. */
export function startLoopGuard(options: LoopGuardOptions): LoopGuard {
  const none: LoopGuard = { stopping() {}, setLogging() {}, [Symbol.dispose]() {} }
  if (!isMainThread) return none
  try {
    return new Guard(options)
  } catch (error) {
    // Threads may be forbidden (`node --permission`). The operator works without the guard.
    createLogger(options.sink, 'kopf.operator').debug('The event loop is not watched.', { error })
    return none
  }
}

class Guard implements LoopGuard, GuardHooks {
  readonly #options: LoopGuardOptions
  readonly #logger: Logger
  readonly #shared = new Int32Array(new SharedArrayBuffer(4 * Object.keys(cells).length))
  readonly #worker: Worker
  /** The number of each handler that was called, by its title. */
  readonly #numbers = new Map<string, number>()
  #lastBeatMs = monotonicMs()
  #isReported = false
  #isOver = false

  constructor(options: LoopGuardOptions) {
    this.#options = options
    this.#logger = createLogger(options.sink, 'kopf.operator')
    this.#beat()
    const { logging = {}, endsWithParent = false } = options
    this.#worker = startThread({ shared: this.#shared, logging, endsWithParent })
    // The operator works without the thread.
    this.#worker.on('error', (error) => this.#logger.debug('The event loop is not watched.', { error }))
    ;(globalThis as { [hooksKey]?: GuardHooks })[hooksKey] = this
    trackCalls((title) => this.#markHandler(title))
  }

  stopping(): void {
    Atomics.store(this.#shared, cells.isStopping, 1)
  }

  setLogging(logging: LoggingOptions): void {
    this.#send({ type: 'logging', logging })
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    delete (globalThis as { [hooksKey]?: GuardHooks })[hooksKey]
    trackCalls(() => {})
    void this.#worker.terminate()
  }

  report(beats: number): boolean {
    if (!this.#isBlockedSince(beats)) return false
    const call = currentCall()
    const what = `${call?.title ?? 'Code outside of handlers'} blocks the event loop${describePlace(new Error())}`
    const seconds = this.#blockedSeconds()
    const advice = 'Use asynchronous calls, or move the work to a worker thread with inWorker().'
    const logger = call?.logger ?? this.#logger
    logger.warn(`${what}: for ${seconds} seconds so far, and nothing else can run meanwhile. ${advice}`)
    this.#isReported = true
    this.#options.onBlocked?.(true)
    return true
  }

  end(beats: number, why: string): boolean {
    if (!this.#isBlockedSince(beats)) return false
    const call = currentCall()
    const what = `${call?.title ?? 'Code outside of handlers'} has blocked the event loop for ${this.#blockedSeconds()} seconds`
    const logger = call?.logger ?? this.#logger
    logger.error(`${what}${describePlace(new Error())}, and ${why}: the process ends now.`)
    // The inspector session of the thread makes Node print a line about debuggers at exit: close standard error after all other listeners.
    process.on('exit', () => closeSync(2))
    process.exit(1)
  }

  #beat(): void {
    if (this.#isOver) return
    this.#lastBeatMs = monotonicMs()
    if (this.#isReported) this.#options.onBlocked?.(false)
    this.#isReported = false
    Atomics.store(this.#shared, cells.limitMs, Math.min(this.#options.limitMs() ?? noLimit, 2 ** 31 - 1))
    Atomics.add(this.#shared, cells.beats, 1)
    callAfter(beatMs, () => this.#beat())
  }

  /** Whether the loop has not turned since the thread's decision. */
  #isBlockedSince(beats: number): boolean {
    return Atomics.load(this.#shared, cells.beats) === beats
  }

  #blockedSeconds(): string {
    return ((monotonicMs() - this.#lastBeatMs) / 1000).toFixed(1)
  }

  /** Stores the running handler as a number in the shared memory, so that the thread can name it if the code cannot be interrupted. */
  #markHandler(title: string | undefined): void {
    this.#shared[cells.handler] = title === undefined ? 0 : (this.#numbers.get(title) ?? this.#registerHandler(title))
  }

  #registerHandler(title: string): number {
    const number = this.#numbers.size + 1
    this.#numbers.set(title, number)
    this.#send({ type: 'handler', number, title })
    return number
  }

  #send(message: ToGuardThread): void {
    this.#worker.postMessage(message)
  }
}

function startThread(options: GuardThreadOptions): Worker {
  const { script, eval: isText } = ownThread('util/process/loop-guard-thread')
  const isSource = !isText && script.endsWith('.ts')
  const worker = new Worker(script, {
    eval: isText,
    name: 'kopf guard',
    workerData: options,
    // Preloaded modules of the user are not needed here; TypeScript sources need their loader. For the internals: loop-guard-thread.ts.
    execArgv: [...(isSource ? process.execArgv : []), '--expose-internals', '--no-warnings'],
    // The loader of TypeScript needs more memory than the program alone.
    resourceLimits: isSource
      ? { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 }
      : { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  worker.unref()
  return worker
}

/** The position of the running user code: ` at loop (operator.ts:7:3)`. */
function describePlace({ stack = '' }: Error): string {
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line))
  const own = frames.findLastIndex((line) => line.includes('loop-guard') || /^ +at <anonymous>:\d/.test(line))
  const frame = frames
    .slice(own + 1)
    .find((line) => !/\(?node:|[\\/]node_modules[\\/]|\(<anonymous>\)$/.test(line) && !line.includes(ownCode()))
  return frame === undefined ? '' : ` ${frame.trim()}`
}
