/**
 * Runs an operator as the only task of the process, until a signal, a stray error or a failure stops it. `kopf run` and the programs of
 * `kopf build` call it; they differ in how the operator is loaded.
 */
import type { Command } from 'commander'
import type { Operator, RunningOperator, RunOptions } from '../../operator.ts'
import { Observers } from '../../run/observers.ts'
import { lazy } from '../../util/lazy.ts'
import { createLogger, type LogSink } from '../../util/log/log.ts'
import { secondSignalHint } from '../../util/process/signals.ts'
import type { Display } from '../display/display.ts'
import { CallsAtWork, exitAfterTimeout, isCausedByStop, setFailed, toRunError, untilStopped } from '../exit.ts'
import type { Loaded } from '../loading/import-operator.ts'
import { warnOfMissingNamespaces } from '../missing-names.ts'
import { loginByOptions } from '../options/cluster.ts'
import { CommandLogging } from '../options/logging.ts'
import { warnOfScope } from '../options/namespaces.ts'
import { CommandGuard } from './guard-thread.ts'
import { applyRunSettings, type RunArguments, readRunOptions } from './run-options.ts'
import { catchStrayErrors } from './stray-errors.ts'

/** The options of one kind of program, and what to dispose of after the run. */
export interface PreparedRun extends AsyncDisposable {
  readonly options: RunOptions
  readonly isEmbedded: boolean
  /** Called when the operator is ready. A failure ends the run. */
  readonly onReady?: (sink: LogSink) => Promise<void>
}

export interface RunProgram {
  /** The title of the run if the operator has no name. */
  readonly title: string
  /** Called when the log, the signals and stray errors are taken care of. A stop does not wait for it. */
  readonly load: (sink: LogSink) => Promise<Loaded>
  /** Called for the loaded operator. Default: the cluster of the options, or else of the login handlers. */
  readonly prepare?: (operator: Operator) => Promise<PreparedRun>
}

export async function runProgram(command: Command, args: RunArguments, program: RunProgram): Promise<void> {
  const given = readRunOptions(command, args)
  const logging = new CommandLogging(args)
  const stray = new Promise<void>((resolve) => catchStrayErrors(logging.sink, () => resolve()))
  void stray.then(() => setFailed())
  const calls = new CallsAtWork()
  const stopped = Promise.race([untilStopped(calls), stray])
  const guard = new CommandGuard(logging)
  // A top-level await in a file may never settle; a signal must still stop the command.
  const loaded = await Promise.race([loadUnlessStopped(program, logging.sink, stopped), stopped.then(() => undefined)])
  if (loaded === undefined) return
  await using _ = loaded
  const { operator } = loaded
  guard.useSettingsOf(operator)
  applyRunSettings(operator, args)
  await using prepared = program.prepare ? await program.prepare(operator) : prepareForCluster(args)
  const stopHint = secondSignalHint()
  const options: RunOptions = {
    ...given,
    ...prepared.options,
    logging: logging.sink,
    ...(stopHint !== undefined && { stopHint }),
  }
  if (!prepared.isEmbedded) warnOfScope(options, args, logging.sink)
  const { namespaces } = options
  const title = { name: operator.name ?? program.title, ...args, ...(namespaces && { namespaces }) }
  const display = logging.wantsDisplay ? (await import('../display/display.ts')).showRun(title) : undefined
  await runOperator(operator, {
    options,
    sink: logging.sink,
    stopped,
    display,
    calls,
    onStopping: () => guard.stopping(),
    onReady: async () => prepared.onReady?.(logging.sink),
  })
}

async function loadUnlessStopped(
  program: RunProgram,
  sink: LogSink,
  stopped: Promise<unknown>,
): Promise<Loaded | undefined> {
  try {
    return await program.load(sink)
  } catch (error) {
    if (await isCausedByStop(stopped)) return undefined
    throw error
  }
}

/** Calls back when the operator is ready. Never resolves; rejects if the callback fails. */
function failureAfterReady({ ready }: RunningOperator, onReady: () => Promise<void>): Promise<never> {
  return new Promise((_, reject) => {
    // An operator that does not become ready reports that with its end.
    ready.then(() => onReady().catch(reject)).catch(() => {})
  })
}

/** Uses the cluster of the options. */
export function prepareForCluster(args: RunArguments): PreparedRun {
  const connection = loginByOptions(args)
  return {
    options: connection === undefined ? {} : { connection },
    isEmbedded: false,
    async [Symbol.asyncDispose]() {},
  }
}

interface RunCommand {
  readonly options: RunOptions
  readonly sink: LogSink
  readonly stopped: Promise<unknown>
  /** The progress display on a terminal. */
  readonly display: Display | undefined
  readonly calls: CallsAtWork
  /** Called when the operator begins to stop, on request or after a failure. */
  readonly onStopping: () => void
  readonly onReady: () => Promise<void>
}

async function runOperator(operator: Operator, command: RunCommand): Promise<void> {
  const { options, sink, stopped, display, calls, onStopping, onReady } = command
  const starting = new AbortController()
  const limitExitTime = lazy(() => {
    exitAfterTimeout(operator, calls)
    onStopping()
  })
  void stopped.then(() => {
    display?.hide()
    starting.abort()
    limitExitTime()
  })
  const observers = new Observers(createLogger(sink, 'kopf.cli'))
  for (const listener of [calls, display?.progress]) if (listener !== undefined) observers.add(listener)
  try {
    const running = await operator.start({ ...options, observer: observers.all, signal: starting.signal })
    void running.ready.then(
      () => display?.listed(),
      () => {},
    )
    void warnOfMissingNamespaces(running, options, sink)
    // The operator may also stop because of a failure, and its cleanup needs the time limit as well.
    running.stopping.addEventListener('abort', limitExitTime, { once: true })
    await Promise.race([stopped, running.done, failureAfterReady(running, onReady)]).finally(() => running.stop())
    await running.done
  } catch (error) {
    // A stop during the start is not a failure.
    if (starting.signal.aborted && (error as Error)?.name === 'AbortError') return
    throw toRunError(error)
  } finally {
    display?.end()
  }
}
