/**
 * A thread that watches the event loop of this process: names the handler that blocks it, and ends the process where a stop was
 * requested and cannot be carried out, since Node delivers signals on the loop that is blocked. This file is the side of the main thread;
 * loop-guard-thread.ts runs on the other one and calls `report` and `end` here while the blocked code is interrupted.
 */
import { closeSync } from 'node:fs'
import { isMainThread, Worker } from 'node:worker_threads'
import { monotonicMs, ringAfter } from './clock.ts'
import { currentCall, trackCalls } from './current-call.ts'
import { createLogger, type Logger, type LoggingOptions, type LogSink } from './log.ts'
import { ownCode, ownProgram } from './package-files.ts'

/** What both threads see: one number each. */
export const cells = { beats: 0, handler: 1, isStopping: 2, limitMs: 3 } as const
/** In the place of a limit: the stop waits for ever. */
export const noLimit = -1
export const beatMs = 500

/** What the thread is started with. */
export interface GuardThreadOptions {
  readonly shared: Int32Array
  /** How its own lines look. */
  readonly lines: LoggingOptions
  readonly endsWithParent: boolean
}

/** To the thread: the number of a handler that is called for the first time, or how its own lines look from now on. */
export type ToGuardThread =
  | { readonly type: 'handler'; readonly number: number; readonly title: string }
  | { readonly type: 'lines'; readonly lines: LoggingOptions }

/** What the thread calls on this side, by the name `kopf.guard`. */
export interface GuardHooks {
  /** Logs which handler blocks; answers false where nothing does any more. */
  report(beats: number): boolean
  /** Ends the process; answers false where nothing blocks it any more. */
  end(beats: number, why: string): boolean
}

export interface LoopGuardOptions {
  readonly sink: LogSink
  /** How lines look that the thread has to write itself; default: as `configureLogging` without options. */
  readonly lines?: LoggingOptions
  /** Whether the process ends when its parent is gone, also while the loop is blocked. Default: false. */
  readonly endsWithParent?: boolean
  /** How long a stop waits for a blocked loop; undefined for ever. Asked again and again: settings change. */
  readonly limitMs: () => number | undefined
}

export interface LoopGuard extends Disposable {
  /** The process is to stop for another reason than a signal: the thread sees signals by itself. */
  stopping(): void
  /** Changes how lines look that the thread writes itself. */
  setLines(lines: LoggingOptions): void
}

const hooksKey: unique symbol = Symbol.for('kopf.guard') as never

/** On other threads than the main one nothing is watched: only the main thread can be interrupted. */
export function startLoopGuard(options: LoopGuardOptions): LoopGuard {
  const none: LoopGuard = { stopping() {}, setLines() {}, [Symbol.dispose]() {} }
  if (!isMainThread) return none
  try {
    return new Guard(options)
  } catch (error) {
    // Threads may be forbidden (`node --permission`). The operator works without.
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
  #beatenMs = monotonicMs()
  #isOver = false

  constructor(options: LoopGuardOptions) {
    this.#options = options
    this.#logger = createLogger(options.sink, 'kopf.operator')
    this.#beat()
    const { lines = {}, endsWithParent = false } = options
    this.#worker = startThread({ shared: this.#shared, lines, endsWithParent })
    // Without the thread the operator works as well.
    this.#worker.on('error', (error) => this.#logger.debug('The event loop is not watched.', { error }))
    ;(globalThis as { [hooksKey]?: GuardHooks })[hooksKey] = this
    trackCalls((title) => this.#mark(title))
  }

  stopping(): void {
    Atomics.store(this.#shared, cells.isStopping, 1)
  }

  setLines(lines: LoggingOptions): void {
    this.#send({ type: 'lines', lines })
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
    const what = `${call?.title ?? 'Code outside of handlers'} blocks the event loop${placeOf(new Error())}`
    const seconds = this.#blockedSeconds()
    const advice = 'Use asynchronous calls, or move the work to a worker thread with inWorker().'
    const logger = call?.logger ?? this.#logger
    logger.warn(`${what}: for ${seconds} seconds so far, and nothing else can run meanwhile. ${advice}`)
    return true
  }

  end(beats: number, why: string): boolean {
    if (!this.#isBlockedSince(beats)) return false
    const call = currentCall()
    const what = `${call?.title ?? 'Code outside of handlers'} has blocked the event loop for ${this.#blockedSeconds()} seconds`
    const logger = call?.logger ?? this.#logger
    logger.error(`${what}${placeOf(new Error())}, and ${why}: the process ends unfinished.`)
    // After all other listeners. The inspector session of the thread makes Node print a line about debuggers at the exit.
    process.on('exit', () => closeSync(2))
    process.exit(1)
  }

  #beat(): void {
    if (this.#isOver) return
    this.#beatenMs = monotonicMs()
    Atomics.store(this.#shared, cells.limitMs, Math.min(this.#options.limitMs() ?? noLimit, 2 ** 31 - 1))
    Atomics.add(this.#shared, cells.beats, 1)
    ringAfter(beatMs, () => this.#beat())
  }

  /** What the thread has decided may be overtaken by a loop that turns again. */
  #isBlockedSince(beats: number): boolean {
    return Atomics.load(this.#shared, cells.beats) === beats
  }

  #blockedSeconds(): string {
    return ((monotonicMs() - this.#beatenMs) / 1000).toFixed(1)
  }

  /** Tells the thread the handler by a number: it is the only one to name it where the blocked code cannot be interrupted. */
  #mark(title: string | undefined): void {
    this.#shared[cells.handler] = title === undefined ? 0 : (this.#numbers.get(title) ?? this.#introduce(title))
  }

  #introduce(title: string): number {
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
  const program = ownProgram('util/loop-guard-thread')
  const worker = new Worker(program, {
    name: 'kopf guard',
    workerData: options,
    // What users preload is not for this thread; our own sources need their loader. How signals reach it: loop-guard-thread.ts.
    execArgv: [...(program.endsWith('.ts') ? process.execArgv : []), '--expose-internals', '--no-warnings'],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  worker.unref()
  return worker
}

/** The line of the user that runs: ` at loop (operator.ts:7:3)`. */
function placeOf({ stack = '' }: Error): string {
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line))
  const own = frames.findLastIndex((line) => line.includes('loop-guard') || /^ +at <anonymous>:\d/.test(line))
  const frame = frames
    .slice(own + 1)
    .find((line) => !/\(?node:|[\\/]node_modules[\\/]/.test(line) && !line.includes(ownCode()))
  return frame === undefined ? '' : ` ${frame.trim()}`
}
