/**
 * The guard thread, started by loop-guard.ts. Checks twice a second whether the event loop of the main thread turns, and receives the
 * signals of the process itself. Interrupts running JavaScript through the inspector; if that is not possible, as in
 * execSync, it writes to standard error and kills the process.
 */
import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { constants } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { monotonicMs, systemClock } from '../async/clock.ts'
import { createLogger, createLogSink, type Logger, type LoggingOptions } from '../log/log.ts'
import { beatMs, cells, type GuardHooks, type GuardThreadOptions, noLimit, type ToGuardThread } from './loop-guard.ts'
import { decideOnLoop, type LoopAction } from './loop-guard-decision.ts'
import { sameSignalMs } from './signals.ts'

/** Timeout for the inspector to interrupt JavaScript. */
const interruptTimeoutMs = 1000
const signalNumbers = [constants.signals.SIGINT, constants.signals.SIGTERM]

const { shared, logging, endsWithParent } = workerData as GuardThreadOptions
const { ppid } = process
// Writes directly: `process.stderr` of a worker goes through the main thread, which is blocked.
let logger = createThreadLogger(logging)
const titles = new Map<number, string>()
let beats = -1
let missedBeats = 0
let isReported = false
let signals = 0
let signalMs = 0
let stopMs: number | undefined
let isActing = false

interface SignalHandle {
  onsignal: (number: number) => void
  start(number: number): number
}

interface Internals {
  internalBinding(name: 'signal_wrap'): { readonly Signal: new () => SignalHandle }
}

/**
 * Signals reach every event loop that listens for them, but Node has no public API to listen on a worker. Its internal API is
 * available with `--expose-internals`, which loop-guard.ts sets for this thread only. Without it, the thread only reports blocked
 * loops.
 */
function listenForSignals(): void {
  try {
    const internals = process.getBuiltinModule('internal/test/binding') as unknown as Internals
    const { Signal } = internals.internalBinding('signal_wrap')
    for (const number of signalNumbers) {
      const handle = new Signal()
      handle.onsignal = onSignal
      handle.start(number)
    }
  } catch (error) {
    logger.debug('Signals are not received while a handler blocks the event loop.', { error })
  }
}

function onSignal(): void {
  const nowMs = monotonicMs()
  if (signals === 0 || nowMs - signalMs >= sameSignalMs) signals += 1
  signalMs = nowMs
  stopMs ??= nowMs
  void check()
}

async function check(): Promise<void> {
  const action = decide()
  if (action.type === 'wait' || isActing) return
  isActing = true
  if (action.type === 'report') {
    isReported = true
    if (!(await interrupt('report', []))) writeUninterrupted('blocks the event loop')
  } else {
    await endProcess(action.reason === 'too-long' ? 'the process was told to stop' : 'a second signal has come')
  }
  isActing = false
}

function decide(): LoopAction {
  if (Atomics.load(shared, cells.isStopping) === 1) stopMs ??= monotonicMs()
  const limitMs = Atomics.load(shared, cells.limitMs)
  return decideOnLoop({
    blockedMs: missedBeats * beatMs,
    sinceStopMs: stopMs === undefined ? undefined : monotonicMs() - stopMs,
    signals,
    limitMs: limitMs === noLimit ? undefined : limitMs,
    isReported,
  })
}

async function endProcess(why: string): Promise<void> {
  if (await interrupt('end', [why])) return
  writeUninterrupted(`has blocked the event loop, and ${why}: the process is killed`)
  process.kill(process.pid, 'SIGKILL')
}

/** Calls a hook on the main thread while other code runs there; true if it was called. */
async function interrupt(hook: keyof GuardHooks, args: readonly unknown[]): Promise<boolean> {
  const expression = `globalThis[Symbol.for('kopf.guard')]?.${hook}(...${JSON.stringify([beats, ...args])})`
  const session = new Session()
  try {
    session.connectToMainThread()
    const answered = new Promise<boolean>((resolve) => {
      session.post('Runtime.evaluate', { expression }, (error) => resolve(error === null))
    })
    return await Promise.race([answered, systemClock.sleep(interruptTimeoutMs).then(() => false)])
  } catch {
    return false
  } finally {
    session.disconnect()
  }
}

function writeUninterrupted(what: string): void {
  const title = titles.get(Atomics.load(shared, cells.handler)) ?? 'Code after an await, or outside of handlers,'
  logger.warn(`${title} ${what}. It is in a call that cannot be interrupted, such as execSync.`)
}

async function watch(): Promise<never> {
  for (;;) {
    await systemClock.sleep(beatMs)
    if (endsWithParent && process.ppid !== ppid) process.kill(process.pid, 'SIGKILL')
    const now = Atomics.load(shared, cells.beats)
    if (now !== beats) [missedBeats, isReported] = [0, false]
    else missedBeats += 1
    beats = now
    await check()
  }
}

function createThreadLogger(options: LoggingOptions): Logger {
  return createLogger(createLogSink({ ...options, write: (line) => void writeSync(2, line) }), 'kopf.operator')
}

parentPort!.on('message', (message: ToGuardThread) => {
  if (message.type === 'handler') titles.set(message.number, message.title)
  else logger = createThreadLogger(message.logging)
})
parentPort!.unref()
listenForSignals()
void watch()
